//! A limit of memory that leaves the interpreter usable, and a collector that heeds it.

use super::Change;
use super::Edit::{After, Append, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        file: "lstate.c",
        why: "this text is needed where an error of memory cannot be raised",
        edit: After(
            "  luaS_fix(luaS_newliteral(L, MEMERRMSG));\n",
            "  luaS_fix(luaS_newliteral(L, \"error in error handling\"));\n",
        ),
    },
    Change {
        file: "lstate.h",
        why: "the limit, for the collector only; the allocator keeps its own",
        edit: After("  int gcstepmul;  /* GC `granularity' */\n", "  lu_mem memlimit;\n"),
    },
    Change {
        file: "lstate.c",
        why: "first value",
        edit: After("  g->gcstepmul = LUAI_GCMUL;\n", "  g->memlimit = MAX_LUMEM;\n"),
    },
    Change {
        file: "lgc.c",
        why: "a pause must not let the garbage alone reach the limit",
        edit: Replace(
            "#define setthreshold(g)  (g->GCthreshold = (g->estimate/100) * g->gcpause)\n",
            "static void setthreshold (global_State *g) {
  lu_mem late = g->memlimit - g->memlimit/8;
  g->GCthreshold = (g->estimate/100) * g->gcpause;
  if (g->GCthreshold > late)
    g->GCthreshold = (g->estimate < late) ? late : g->totalbytes + GCSTEPSIZE;
}
",
        ),
    },
    Change {
        file: "lapi.c",
        why: "settings of the collector that a script has changed end with it",
        edit: Append(
            "LUA_API void lua_tunegc (lua_State *L, int pause, int stepmul, size_t memlimit) {
  global_State *g = G(L);
  g->gcpause = pause;
  g->gcstepmul = stepmul;
  g->memlimit = memlimit;
  if (g->GCthreshold == MAX_LUMEM)
    g->GCthreshold = g->totalbytes;
}
",
        ),
    },
];
