//! Patterns: a bound on the depth of the C stack, and the test for an interruption at every step.

use super::Change;
use super::Edit::{After, Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        file: "lstrlib.c",
        why: "the internals that the test needs",
        edit: After(
            "#include \"lualib.h\"\n",
            "#include \"ldo.h\"\n#include \"lstate.h\"\n\n\
             /* each takes some hundred bytes of C stack; counted over all matches in progress, nested ones too */\n\
             #define MAXMATCHDEPTH	5000\n",
        ),
    },
    Change {
        file: "lstrlib.c",
        why: "the matcher proper gets another name, so that one function stands before it",
        edit: Replace(
            "static const char *match (MatchState *ms, const char *s, const char *p) {\n  init:",
            "static const char *domatch (MatchState *ms, const char *s, const char *p) {\n  init:",
        ),
    },
    Change {
        file: "lstrlib.c",
        why: "a pattern of many thousand items overflowed the C stack, and a pattern could run for years",
        edit: Before(
            "static const char *lmemfind (",
            "static const char *match (MatchState *ms, const char *s, const char *p) {
  lua_State *L = ms->L;
  const char *res;
  luai_poll(L);
  if (G(L)->matchdepth >= MAXMATCHDEPTH)
    luaL_error(L, \"pattern too complex\");
  G(L)->matchdepth++;
  res = domatch(ms, s, p);
  G(L)->matchdepth--;
  return res;
}


",
        ),
    },
    Change {
        file: "lstrlib.c",
        why: "a plain search takes the product of both lengths; it must be interruptible",
        edit: Replace(
            "static const char *lmemfind (const char *s1, size_t l1,",
            "static const char *lmemfind (lua_State *L, const char *s1, size_t l1,",
        ),
    },
    Change {
        file: "lstrlib.c",
        why: "the same",
        edit: After("      init++;   /* 1st char is already checked */\n", "      luai_poll(L);\n"),
    },
    Change {
        file: "lstrlib.c",
        why: "the same",
        edit: Replace("lmemfind(s+init, l1-init, p, l2)", "lmemfind(L, s+init, l1-init, p, l2)"),
    },
    Change {
        file: "ldo.c",
        why: "an error leaves matches in progress; the depth goes back to what it was",
        edit: Replace(
            "  struct lua_longjmp lj;\n  lj.status = 0;\n",
            "  struct lua_longjmp lj;\n  unsigned int olddepth = G(L)->matchdepth;\n  lj.status = 0;\n",
        ),
    },
    Change {
        file: "ldo.c",
        why: "the same",
        edit: Replace(
            "  L->errorJmp = lj.previous;  /* restore old error handler */\n",
            "  L->errorJmp = lj.previous;  /* restore old error handler */\n  G(L)->matchdepth = olddepth;\n",
        ),
    },
];
