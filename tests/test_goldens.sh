#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every scenario gives what its golden file says.
exec "$PTSIM" check "${srcdir:-.}/scenarios"
