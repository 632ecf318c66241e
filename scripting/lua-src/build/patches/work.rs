//! A single call with much work tests for an interruption as it proceeds. This covers the text of a chunk, a table, the
//! sets and brackets of a pattern, and a garbage collection.

use super::Change;
use super::Edit::{After, Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        why: "A chunk is compiled piece by piece, with the test between, whatever pieces the reader gives.",
        edits: &[
            (
                "lzio.h",
                After(
                    "  const char *p;		/* current position in buffer */\n",
                    "  size_t rest;		/* bytes behind those n */\n",
                ),
            ),
            ("lzio.c", After("  z->n = 0;\n  z->p = NULL;\n", "  z->rest = 0;\n")),
            (
                "lzio.c",
                Replace(
                    "  lua_unlock(L);
  buff = z->reader(L, z->data, &size);
  lua_lock(L);
  if (buff == NULL || size == 0) return EOZ;
  z->n = size - 1;
",
                    "  luai_poll(L);
  if (z->rest > 0) {
    buff = z->p;
    size = z->rest;
  }
  else {
    lua_unlock(L);
    buff = z->reader(L, z->data, &size);
    lua_lock(L);
  }
  if (buff == NULL || size == 0) {
    z->n = 0;
    return EOZ;
  }
  z->rest = size > CHUNKPIECE ? size - CHUNKPIECE : 0;
  z->n = size - z->rest - 1;
",
                ),
            ),
            ("lzio.c", Before("int luaZ_fill (ZIO *z) {\n", "#define CHUNKPIECE	4096\n\n")),
        ],
    },
    Change {
        why: "A chain of a hundred thousand `or` is walked once for each of them.",
        edits: &[(
            "lcode.c",
            Replace(
                "    while ((next = getjump(fs, list)) != NO_JUMP)  /* find last element */\n      list = next;\n",
                "    while ((next = getjump(fs, list)) != NO_JUMP) {  /* find last element */
      luai_poll(fs->L);
      list = next;
    }
",
            ),
        )],
    },
    Change {
        why: "Long strings are put together without a loop that makes the test.",
        edits: &[(
            "lvm.c",
            Before(
                "      buffer = luaZ_openspace(L, &G(L)->buff, tl);\n",
                "      if (tl > 0x4000) luai_poll(L);\n",
            ),
        )],
    },
    Change {
        why: "Strings with many zeros are compared piece by piece.",
        edits: &[
            (
                "lvm.c",
                Replace(
                    "static int l_strcmp (const TString *ls, const TString *rs) {\n",
                    "static int l_strcmp (lua_State *L, const TString *ls, const TString *rs) {\n",
                ),
            ),
            ("lvm.c", Before("    int temp = strcoll(l, r);\n", "    luai_poll(L);\n")),
            (
                "lvm.c",
                Replace(
                    "    return l_strcmp(rawtsvalue(l), rawtsvalue(r)) < 0;\n",
                    "    return l_strcmp(L, rawtsvalue(l), rawtsvalue(r)) < 0;\n",
                ),
            ),
            (
                "lvm.c",
                Replace(
                    "    return l_strcmp(rawtsvalue(l), rawtsvalue(r)) <= 0;\n",
                    "    return l_strcmp(L, rawtsvalue(l), rawtsvalue(r)) <= 0;\n",
                ),
            ),
        ],
    },
    Change {
        why: "A script may ask for a full collection of all that it has made.",
        edits: &[
            (
                "lgc.c",
                Replace(
                    "    lua_assert(g->gcstate == GCSsweepstring || g->gcstate == GCSsweep);\n    singlestep(L);\n",
                    "    lua_assert(g->gcstate == GCSsweepstring || g->gcstate == GCSsweep);
    luai_poll(L);
    singlestep(L);
",
                ),
            ),
            (
                "lgc.c",
                Replace(
                    "  while (g->gcstate != GCSpause) {\n    singlestep(L);\n",
                    "  while (g->gcstate != GCSpause) {\n    luai_poll(L);\n    singlestep(L);\n",
                ),
            ),
        ],
    },
    Change {
        why: "A script that sets the collector's pace makes no single step of it endless, and may ask \
              for many steps.",
        edits: &[
            (
                "lgc.c",
                Replace(
                    "  if (lim == 0)\n    lim = (MAX_LUMEM-1)/2;  /* no limit */\n",
                    "  if (lim <= 0 || lim > (1 << 20))\n    lim = 1 << 20;\n",
                ),
            ),
            (
                "lapi.c",
                Before(
                    "        luaC_step(L);\n        if (g->gcstate == GCSpause) {",
                    "        luai_poll(L);\n",
                ),
            ),
        ],
    },
    Change {
        why: "The functions of `table` go through tables that may be long, and may call a function of \
              C's, which makes no test.",
        edits: &[
            ("ltablib.c", After("  for (i=1; i <= n; i++) {\n", "    luai_poll(L);\n")),
            (
                "ltablib.c",
                Before(
                    "    lua_pushvalue(L, 2);  /* function */\n    lua_pushvalue(L, -3);  /* key */\n",
                    "    luai_poll(L);\n",
                ),
            ),
            (
                "ltablib.c",
                Before("    lua_pop(L, 1);  /* remove value */\n    if (lua_type", "    luai_poll(L);\n"),
            ),
            ("ltablib.c", After("  for ( ;pos<e; pos++) {\n", "    luai_poll(L);\n")),
            ("ltablib.c", After("  for (; i < last; i++) {\n", "    luai_poll(L);\n")),
            (
                "ltablib.c",
                After("static int sort_comp (lua_State *L, int a, int b) {\n", "  luai_poll(L);\n"),
            ),
        ],
    },
    Change {
        why: "A set in a pattern may be long, and is gone through for each byte.",
        edits: &[
            ("lstrlib.c", After("      do {  /* look for a `]' */\n", "        luai_poll(ms->L);\n")),
            (
                "lstrlib.c",
                Replace(
                    "static int matchbracketclass (int c, const char *p, const char *ec) {\n",
                    "#define matchbracketclass(c,p,ec)	bracketclass(ms, c, p, ec)

static int bracketclass (MatchState *ms, int c, const char *p, const char *ec) {
",
                ),
            ),
            ("lstrlib.c", After("  while (++p < ec) {\n", "    luai_poll(ms->L);\n")),
            (
                "lstrlib.c",
                Replace(
                    "static int singlematch (int c, const char *p, const char *ep) {\n",
                    "#define singlematch(c,p,ep)	matchesone(ms, c, p, ep)

static int matchesone (MatchState *ms, int c, const char *p, const char *ep) {
",
                ),
            ),
        ],
    },
    Change {
        why: "A greedy item takes all that it can before the rest of the pattern is tried, and the \
              second bracket of `%b` may be far away.",
        edits: &[
            (
                "lstrlib.c",
                Replace(
                    "  while ((s+i)<ms->src_end && singlematch(uchar(*(s+i)), p, ep))\n    i++;\n",
                    "  while ((s+i)<ms->src_end && singlematch(uchar(*(s+i)), p, ep)) {
    luai_poll(ms->L);
    i++;
  }
",
                ),
            ),
            ("lstrlib.c", After("    while (++s < ms->src_end) {\n", "      luai_poll(ms->L);\n")),
        ],
    },
];
