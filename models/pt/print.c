/* SPDX-License-Identifier: MIT */
#include "print.h"

#include <assert.h>
#include <string.h>

/* The widths of ptdump's columns. */
enum {
    OFFSET_WIDTH = 17,
    RAW_WIDTH = 33,
    NAME_WIDTH = 10,
    PAYLOAD_WIDTH = 25,
    TRACKING_WIDTH = 5,
};

/* Text that grows; AT is its end, where the NUL is. */
struct text {
    char *at;
};

static void put_some(struct text *text, const char *string, size_t length)
{
    memcpy(text->at, string, length);
    text->at += length;
    *text->at = '\0';
}

static void put(struct text *text, const char *string)
{
    put_some(text, string, strlen(string));
}

static void put_hex(struct text *text, uint64_t value, unsigned digits)
{
    text->at += ipt_print_hex(value, digits, text->at);
}

static void put_decimal(struct text *text, unsigned value)
{
    char digit[2] = { (char)('0' + value % 10), '\0' };

    if (value >= 10)
        put_decimal(text, value / 10);
    put(text, digit);
}

/* LENGTH bytes of NAME where ON, with a comma in front unless the text since FROM is empty. */
static void put_flag(struct text *text, const char *from, bool on, const char *name, size_t length)
{
    if (!on)
        return;
    if (text->at != from)
        put(text, ", ");
    put_some(text, name, length);
}

/* Spaces up to column WIDTH from FROM, and one more in any case. */
static void pad(struct text *text, const char *from, size_t width)
{
    do
        put(text, " ");
    while (text->at < from + width + 1);
}

size_t ipt_print_hex(uint64_t value, unsigned digits, char *out)
{
    unsigned length = 16;

    while (length > digits && value >> (4 * (length - 1)) == 0)
        length--;
    for (unsigned i = 0; i < length; i++)
        out[i] = "0123456789abcdef"[value >> (4 * (length - 1 - i)) & 0xf];
    out[length] = '\0';
    return length;
}

size_t ipt_print_bytes(const uint8_t *raw, size_t size, char *out)
{
    out[0] = '\0';
    for (size_t i = 0; i < size; i++)
        ipt_print_hex(raw[i], 2, out + 2 * i);
    return 2 * size;
}

static void put_tnt(struct text *text, const struct ipt_tnt *tnt)
{
    for (unsigned i = tnt->count; i > 0; i--)
        put(text, tnt->bits & BIT(i - 1) ? "!" : ".");
}

/* IPBytes, then the 16 digits of the IP with ? for what is not in the packet. */
static void put_ip(struct text *text, const struct ipt_ip *ip)
{
    unsigned digits = 2 * ipt_ip_size(ip->ip_bytes);
    uint64_t value = ip->ip;

    if (ip->ip_bytes == IPT_IP_SEXT_48) {
        value = sign_extend(value, 48);
        digits = 16;
    }
    put_hex(text, ip->ip_bytes, 1);
    put(text, ": ");
    put(text, &"????????????????"[digits]);
    if (digits)
        put_hex(text, value, digits);
}

static void put_wake(struct text *text, uint64_t wake)
{
    switch (wake & (IPT_WAKE_INTERRUPT | IPT_WAKE_TIMER | IPT_WAKE_STORE | IPT_WAKE_HW)) {
    case IPT_WAKE_INTERRUPT:
        put(text, "int");
        break;
    case IPT_WAKE_TIMER:
        put(text, "tmr");
        break;
    case IPT_WAKE_STORE:
        put(text, " st");
        break;
    case IPT_WAKE_HW:
        put(text, " hw");
        break;
    default:
        put(text, "bad");
    }
}

/* Table 33-50 says which types have a vector. */
static void put_vector(struct text *text, const struct ipt_packet *packet)
{
    switch (packet->cfe.type) {
    case IPT_CFE_INTR:
    case IPT_CFE_VMEXIT_INTR:
    case IPT_CFE_UINTR:
        put(text, ": ");
        put_decimal(text, packet->cfe.vector);
        break;
    case IPT_CFE_SIPI:
        put(text, ": ");
        put_hex(text, packet->cfe.vector, 1);
    }
}

/* One % of a row's text, from the letter on; VALUE is the field's. */
static void put_field(struct text *text, char letter, const struct ipt_packet *packet,
                      uint64_t value)
{
    switch (letter) {
    case 'x':
        put_hex(text, value, 1);
        break;
    case '8':
        put_hex(text, value, 8);
        break;
    case 'd':
        put_decimal(text, (unsigned)value);
        break;
    case 'w':
        put(text, value == 8 ? "1" : "0");
        break;
    case 'c': /* the encodings count from C1; 15 is C0 */
        put_decimal(text, (unsigned)(value + 1) & 0xf);
        break;
    case 'r':
        put_wake(text, value);
        break;
    case 'v':
        put_vector(text, packet);
        break;
    case 't':
        put_tnt(text, &packet->tnt);
        break;
    case 'i':
        put_ip(text, &packet->ip);
        break;
    default:
        assert(0 && "packets.def has a letter that its head does not list");
    }
}

size_t ipt_print_payload(const struct ipt_packet *packet, char *out)
{
    struct text text = { out };
    unsigned fields = 0;

    *out = '\0';
    for (const char *format = ipt_packet_row(packet->type)->text; *format; format++) {
        const struct ipt_field *field;
        uint64_t value;

        if (*format != '%') {
            put_some(&text, format, 1);
            continue;
        }
        field = ipt_packet_field(packet->type, fields++);
        value = ipt_field_value(field, packet);
        if (*++format == '[') {
            size_t length = strcspn(++format, "]");

            put_flag(&text, out, value, format, length);
            format += length;
        } else {
            put_field(&text, *format, packet, value);
        }
    }
    assert(text.at < out + IPT_PAYLOAD_TEXT_MAX);
    return (size_t)(text.at - out);
}

/* What ptdump has after the payload: a name and what is known of it. */
static void put_tracking(struct text *text, const char *from, const char *name)
{
    pad(text, from, PAYLOAD_WIDTH);
    from = text->at;
    put(text, name);
    while (text->at < from + TRACKING_WIDTH)
        put(text, " ");
}

static void put_last_ip(struct text *text, const char *from, struct ipt_last_ip *last,
                        const struct ipt_ip *packet)
{
    uint64_t ip;

    put_tracking(text, from, "ip");
    if (ipt_last_ip_update(last, packet, &ip))
        put_hex(text, ip, 16);
    else
        put(text, "<suppressed>");
}

/* Table 33-26. */
static const char *exec_mode(const struct ipt_packet *packet)
{
    if (packet->mode_exec.cs_l)
        return packet->mode_exec.cs_d ? "unknown" : "64-bit";
    return packet->mode_exec.cs_d ? "32-bit" : "16-bit";
}

static void put_payload_columns(struct text *text, unsigned columns, struct ipt_last_ip *last,
                                const struct ipt_packet *packet)
{
    const char *from = text->at;

    text->at += ipt_print_payload(packet, text->at);
    switch (packet->type) {
    case IPT_PIP:
        put_tracking(text, from, "cr3");
        put_hex(text, packet->pip.cr3, 16);
        break;
    case IPT_VMCS:
        put_tracking(text, from, "vmcs");
        put_hex(text, packet->vmcs.base, 16);
        break;
    case IPT_MODE_EXEC:
        if (columns & IPT_PRINT_EXEC_MODE) {
            put_tracking(text, from, "em");
            put(text, exec_mode(packet));
        }
        break;
    case IPT_PSB:
        ipt_last_ip_reset(last);
        break;
    case IPT_TIP:
    case IPT_TIP_PGE:
    case IPT_TIP_PGD:
    case IPT_FUP:
        if (columns & IPT_PRINT_LAST_IP)
            put_last_ip(text, from, last, &packet->ip);
        break;
    default:
        break;
    }
}

size_t ipt_print_line(unsigned columns, struct ipt_last_ip *last, uint64_t offset,
                      const uint8_t *raw, const struct ipt_packet *packet, char *out)
{
    struct text text = { out };
    char *name, *name_end, *payload;

    if (columns & IPT_PRINT_OFFSET) {
        put_hex(&text, offset, 16);
        pad(&text, out, OFFSET_WIDTH);
    }
    if (columns & IPT_PRINT_RAW) {
        const char *from = text.at;

        text.at += ipt_print_bytes(raw, packet->size, text.at);
        pad(&text, from, RAW_WIDTH);
    }
    name = text.at;
    put(&text, ipt_packet_row(packet->type)->dump);
    name_end = text.at;
    pad(&text, name, NAME_WIDTH);
    payload = text.at;
    put_payload_columns(&text, columns, last, packet);
    if (text.at == payload) {
        text.at = name_end;
        *text.at = '\0';
    }
    assert(text.at < out + IPT_LINE_TEXT_MAX);
    return (size_t)(text.at - out);
}
