/* SPDX-License-Identifier: MIT */
#include "smm.h"

#include "../arch/control.h"
#include "../bits.h"
#include "image.h"

/* SMBASE after RESET, and what is added to it for the handler's entry and for the map (32.4). */
#define SMBASE_RESET 0x30000u
#define SMRAM_ENTRY  0x8000u

/* The SMM revision identifier (32.9). */
#define REVISION_IO_RESTART BIT(16)
#define REVISION_RELOCATION BIT(17)

/* The value of the I/O instruction restart field that asks for it (table 32-8). */
#define IO_RESTART 0xffu

/* RFLAGS bits that exist, and the one that is always 1 (SDM vol. 1, figure 3-8). */
#define RFLAGS_BITS UINT64_C(0x3f7fd5)

void smm_reset(struct smm *smm)
{
    *smm = (struct smm){ .smbase = SMBASE_RESET };
}

bool smm_map_is_64(const struct cpu_profile *profile)
{
    static const struct {
        uint8_t family, model;
    } listed[] = {
#define SIGNATURE(family, model) { family, model },
#include "signatures.def"
    };
    uint32_t signature = profile->signature;
    uint64_t family = bits_get(signature, 11, 8);
    uint64_t model = bits_get(signature, 7, 4) | bits_get(signature, 19, 16) << 4;

    for (unsigned i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
        if (listed[i].family == family && listed[i].model == model)
            return true;
    return profile->intel64;
}

/*
 * Whether an SMI is taken
 */

static bool in_shadow(const struct smm_cpu *cpu)
{
    const struct arch_state *state = cpu->arch.state;

    return cpu->profile->smi_blocked_by_shadow &&
           (state->blocking_by_sti || state->blocking_by_mov_ss);
}

static bool ready(const struct smm_cpu *cpu)
{
    enum arch_activity activity = cpu->arch.state->activity;

    return cpu->smm->pending && !cpu->smm->in_smm && activity != ARCH_SHUTDOWN &&
           activity != ARCH_WAIT_FOR_SIPI;
}

bool smm_takes_smi(const struct smm_cpu *cpu)
{
    return ready(cpu) && !in_shadow(cpu);
}

bool smm_awaits_shadow(const struct smm_cpu *cpu)
{
    return ready(cpu) && in_shadow(cpu);
}

/*
 * Into SMM
 */

/* Table 32-6. */
static unsigned io_type(const struct smm_io *io)
{
    return (io->in ? 1u : 0u) | (io->string ? 2u : 0u) | (io->repeated ? 4u : 0u) |
           (io->immediate ? 8u : 0u);
}

/* Table 32-5. Without an I/O instruction the contents are not defined: they are 0. */
static void save_io(struct smm_image *image, const struct smm_io *io)
{
    if (!io->valid)
        return;
    image->io_state = (uint64_t)io->port << 16 | io_type(io) << 4 | (unsigned)io->size << 1 | 1u;
    image->io_address = io->string ? io->address : 0;
    image->io_rip = io->rip;
}

/* Table 32-4. */
static void initialize(struct arch_state *state, uint32_t smbase)
{
    const struct arch_seg data = {
        .ar = ARCH_AR_G | ARCH_AR_P | ARCH_AR_S | ARCH_TYPE_WRITABLE | ARCH_TYPE_ACCESSED,
        .limit = UINT32_MAX,
    };

    for (unsigned i = 0; i < ARCH_SREGS; i++)
        state->sreg[i] = data;
    state->sreg[ARCH_CS].selector = (uint16_t)(smbase >> 4);
    state->sreg[ARCH_CS].base = smbase;
    state->sreg[ARCH_CS].ar |= ARCH_TYPE_CODE;
    state->rflags = RFLAGS_FIXED1;
    state->rip = SMRAM_ENTRY;
    state->cr0 &= ~(CR0_PE | CR0_EM | CR0_TS | CR0_PG);
    state->cr4 = 0;
    state->dr[7] = 0x400;
    state->efer = 0;
    state->cpl = 0;
    state->activity = ARCH_ACTIVE;
    state->blocking_by_sti = state->blocking_by_mov_ss = false;
    state->blocking_by_nmi = true;
}

void smm_enter(const struct smm_cpu *cpu, const struct smm_tracing *was)
{
    struct smm *smm = cpu->smm;
    struct smm_image image;

    smm_image_take(&image, cpu->arch.state);
    save_io(&image, &smm->io);
    image.kept |= (was->trace_en ? SMM_KEPT_TRACE_EN : 0u) | (was->lbr_en ? SMM_KEPT_LBR_EN : 0u);
    image.revision = cpu->profile->smm_revision;
    image.smbase = smm->smbase;
    smm_image_save(&image, smm_map_is_64(cpu->profile), cpu->arch.mem,
                   (uint64_t)smm->smbase + SMRAM_ENTRY);
    initialize(cpu->arch.state, smm->smbase);
    smm->in_smm = true;
    smm->pending = false;
    smm->io.valid = false;
}

/*
 * Out of it
 */

/* What the handler cannot have meant is put right: bits of registers that do not exist, and LMA,
 * which follows from LME and PG. */
static void make_legal(struct smm_image *image)
{
    bool lma = (image->efer & EFER_LME) && (image->cr0 & CR0_PG);

    image->rflags = (image->rflags & RFLAGS_BITS) | RFLAGS_FIXED1;
    image->efer &= EFER_SCE | EFER_LME | EFER_NXE;
    image->efer |= lma ? EFER_LMA : 0;
}

/* The situations that lead to shutdown (2016 text, 34.3.2). */
static bool refused(const struct smm_cpu *cpu, const struct smm_image *image)
{
    uint64_t cr0 = image->cr0;

    return (image->cr4 & ~arch_cr4_bits(cpu->arch.limits)) || ((cr0 & CR0_PG) && !(cr0 & CR0_PE)) ||
           ((cr0 & CR0_NW) && !(cr0 & CR0_CD)) ||
           ((image->cr4 & CR4_PCIDE) && !(image->efer & EFER_LMA));
}

/* Table 32-7. */
static bool halts(const struct cpu_profile *profile, const struct smm_image *image)
{
    return (image->halt_restart & 1) &&
           (image->kept & SMM_KEPT_HALTED || profile->smm_halt_unasked);
}

enum smm_outcome smm_resume(const struct smm_cpu *cpu, const struct smm_tracing *now,
                            struct smm_tracing *restored)
{
    struct arch_state *state = cpu->arch.state;
    struct smm *smm = cpu->smm;
    uint32_t revision = cpu->profile->smm_revision;
    struct smm_image image;

    smm_image_load(&image, smm_map_is_64(cpu->profile), cpu->arch.mem,
                   (uint64_t)smm->smbase + SMRAM_ENTRY);
    make_legal(&image);
    if (now->trace_en || refused(cpu, &image)) {
        state->activity = ARCH_SHUTDOWN;
        return SMM_SHUTDOWN;
    }
    if ((revision & REVISION_IO_RESTART) && image.io_restart == IO_RESTART)
        image.rip = image.io_rip;
    smm_image_give(&image, state);
    state->activity = halts(cpu->profile, &image) ? ARCH_HLT : ARCH_ACTIVE;
    if (revision & REVISION_RELOCATION)
        smm->smbase = (uint32_t)image.smbase;
    smm->in_smm = false;
    restored->trace_en = image.kept & SMM_KEPT_TRACE_EN;
    restored->lbr_en = image.kept & SMM_KEPT_LBR_EN;
    return SMM_RESUMED;
}
