//! A memory limit that leaves the interpreter usable, and a collector that respects it.

use super::Change;
use super::Edit::{After, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        why: "This text is needed where an error of memory cannot be raised, so it is made in advance.",
        edits: &[(
            "lstate.c",
            After(
                "  luaS_fix(luaS_newliteral(L, MEMERRMSG));\n",
                "  luaS_fix(luaS_newliteral(L, \"error in error handling\"));\n",
            ),
        )],
    },
    Change {
        why: "A pause must not let garbage alone reach the limit of memory, so the collector knows the \
              limit that the allocator keeps.",
        edits: &[
            ("lstate.h", After("  int gcstepmul;  /* GC `granularity' */\n", "  lu_mem memlimit;\n")),
            ("lstate.c", After("  g->gcstepmul = LUAI_GCMUL;\n", "  g->memlimit = MAX_LUMEM;\n")),
            (
                "lgc.c",
                Replace(
                    "#define setthreshold(g)  (g->GCthreshold = (g->estimate/100) * g->gcpause)\n",
                    "static void setthreshold (global_State *g) {
  lu_mem late = g->memlimit - g->memlimit/8;
  g->GCthreshold = (g->estimate/100) * g->gcpause;
  if (g->GCthreshold > late)
    g->GCthreshold = (g->estimate < late) ? late : g->totalbytes + GCSTEPSIZE;
}
",
                ),
            ),
        ],
    },
];
