//! Patterns: a limit on the depth of the C stack, and a test for an interruption at every step.

use super::Change;
use super::Edit::{After, Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        why: "A pattern of many thousand items overflowed the C stack, and a pattern could run for \
              years: one function before the matcher counts the depth and makes the test.",
        edits: &[
            ("lstrlib.c", Replace(
            "static const char *match (MatchState *ms, const char *s, const char *p) {\n  init:",
            "static const char *domatch (MatchState *ms, const char *s, const char *p) {\n  init:",
        )),
            ("lstrlib.c", Before(
            "static const char *lmemfind (",
            "/* each takes some hundred bytes of C stack; counted over all matches in progress, nested ones too */
#define MAXMATCHDEPTH 5000

static const char *match (MatchState *ms, const char *s, const char *p) {
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
        )),
        ],
    },
    Change {
        why: "An error leaves matches in progress: the depth goes back to what it was.",
        edits: &[
            ("ldo.c", Replace(
            "  struct lua_longjmp lj;\n  lj.status = 0;\n",
            "  struct lua_longjmp lj;\n  unsigned int olddepth = G(L)->matchdepth;\n  lj.status = 0;\n",
        )),
            ("ldo.c", Replace(
            "  L->errorJmp = lj.previous;  /* restore old error handler */\n",
            "  L->errorJmp = lj.previous;  /* restore old error handler */\n  G(L)->matchdepth = olddepth;\n",
        )),
        ],
    },
    Change {
        why: "A plain search takes the product of both lengths, so each step of it makes the test.",
        edits: &[
            ("lstrlib.c", Replace(
            "static const char *lmemfind (const char *s1, size_t l1,",
            "static const char *lmemfind (lua_State *L, const char *s1, size_t l1,",
        )),
            ("lstrlib.c", After("      init++;   /* 1st char is already checked */\n", "      luai_poll(L);\n")),
            ("lstrlib.c", Replace("lmemfind(s+init, l1-init, p, l2)", "lmemfind(L, s+init, l1-init, p, l2)")),
        ],
    },
];
