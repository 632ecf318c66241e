//! A single call that goes through much looks for an interruption as it goes, by what it goes through: the text of a
//! chunk, a table, the sets and the brackets of a pattern, a collection of garbage.

use super::Change;
use super::Edit::{After, Append, Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        file: "lstate.h",
        why: "the test once in so many bytes",
        edit: Before(
            "#define G(L)	(L->l_G)\n",
            "#define luai_polleach(L,p)	{ if (((size_t)(p) & 0x3fff) == 0) luai_poll(L); }\n",
        ),
    },
    Change {
        file: "ldo.c",
        why: "the host works on the interpreter, too, where no error could be caught",
        edit: Replace(
            "  if (g->interruptf && (*g->interruptf)(g->interruptud)) {\n",
            "  if (g->interruptf && L->errorJmp && (*g->interruptf)(g->interruptud)) {\n",
        ),
    },
    Change {
        file: "lapi.c",
        why: "the test, for libraries",
        edit: Append("LUA_API void lua_poll (lua_State *L) {\n  luai_poll(L);\n}\n"),
    },
    Change {
        file: "lua.h",
        why: "the same",
        edit: After(
            "LUA_API int   (lua_error) (lua_State *L);\n",
            "LUA_API void  (lua_poll) (lua_State *L);
#define lua_polleach(L,p)	{ if (((size_t)(p) & 0x3fff) == 0) lua_poll(L); }
",
        ),
    },
    Change {
        file: "lzio.h",
        why: "what is left of a piece that a reader has given",
        edit: After(
            "  const char *p;		/* current position in buffer */\n",
            "  size_t rest;		/* bytes behind those n */\n",
        ),
    },
    Change {
        file: "lzio.c",
        why: "first value",
        edit: After("  z->n = 0;\n  z->p = NULL;\n", "  z->rest = 0;\n"),
    },
    Change {
        file: "lzio.c",
        why: "the internals that the test needs",
        edit: After("#include \"lua.h\"\n\n", "#include \"ldo.h\"\n"),
    },
    Change {
        file: "lzio.c",
        why: "a chunk is compiled piece by piece, whatever pieces the reader gives",
        edit: Replace(
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
    },
    Change {
        file: "lzio.c",
        why: "how long a piece is",
        edit: Before("int luaZ_fill (ZIO *z) {\n", "#define CHUNKPIECE	4096\n\n"),
    },
    Change {
        file: "lcode.c",
        why: "a chain of a hundred thousand `or` is walked once for each of them",
        edit: Replace(
            "    while ((next = getjump(fs, list)) != NO_JUMP)  /* find last element */\n      list = next;\n",
            "    while ((next = getjump(fs, list)) != NO_JUMP) {  /* find last element */
      luai_poll(fs->L);
      list = next;
    }
",
        ),
    },
    Change {
        file: "lvm.c",
        why: "long strings are put together without a loop, too",
        edit: Before(
            "      buffer = luaZ_openspace(L, &G(L)->buff, tl);\n",
            "      if (tl > 0x4000) luai_poll(L);\n",
        ),
    },
    Change {
        file: "lvm.c",
        why: "strings with many zeros are compared piece by piece",
        edit: Replace(
            "static int l_strcmp (const TString *ls, const TString *rs) {\n",
            "static int l_strcmp (lua_State *L, const TString *ls, const TString *rs) {\n",
        ),
    },
    Change {
        file: "lvm.c",
        why: "the same",
        edit: Before("    int temp = strcoll(l, r);\n", "    luai_poll(L);\n"),
    },
    Change {
        file: "lvm.c",
        why: "the same",
        edit: Replace(
            "    return l_strcmp(rawtsvalue(l), rawtsvalue(r)) < 0;\n",
            "    return l_strcmp(L, rawtsvalue(l), rawtsvalue(r)) < 0;\n",
        ),
    },
    Change {
        file: "lvm.c",
        why: "the same",
        edit: Replace(
            "    return l_strcmp(rawtsvalue(l), rawtsvalue(r)) <= 0;\n",
            "    return l_strcmp(L, rawtsvalue(l), rawtsvalue(r)) <= 0;\n",
        ),
    },
    Change {
        file: "lgc.c",
        why: "a script may ask for a full collection of all that it has made",
        edit: Replace(
            "    lua_assert(g->gcstate == GCSsweepstring || g->gcstate == GCSsweep);\n    singlestep(L);\n",
            "    lua_assert(g->gcstate == GCSsweepstring || g->gcstate == GCSsweep);
    luai_poll(L);
    singlestep(L);
",
        ),
    },
    Change {
        file: "lgc.c",
        why: "the same",
        edit: Replace(
            "  while (g->gcstate != GCSpause) {\n    singlestep(L);\n",
            "  while (g->gcstate != GCSpause) {\n    luai_poll(L);\n    singlestep(L);\n",
        ),
    },
    Change {
        file: "lgc.c",
        why: "a script that sets the collector's pace makes no single step of it endless",
        edit: Replace(
            "  if (lim == 0)\n    lim = (MAX_LUMEM-1)/2;  /* no limit */\n",
            "  if (lim <= 0 || lim > (1 << 20))\n    lim = 1 << 20;\n",
        ),
    },
    Change {
        file: "lapi.c",
        why: "many steps of the collector at a script's wish",
        edit: Before(
            "        luaC_step(L);\n        if (g->gcstate == GCSpause) {",
            "        luai_poll(L);\n",
        ),
    },
    Change {
        file: "ltablib.c",
        why: "a table may be long and the function one of C's",
        edit: After("  for (i=1; i <= n; i++) {\n", "    luai_poll(L);\n"),
    },
    Change {
        file: "ltablib.c",
        why: "the same",
        edit: Before(
            "    lua_pushvalue(L, 2);  /* function */\n    lua_pushvalue(L, -3);  /* key */\n",
            "    luai_poll(L);\n",
        ),
    },
    Change {
        file: "ltablib.c",
        why: "table.maxn of a long table",
        edit: Before("    lua_pop(L, 1);  /* remove value */\n    if (lua_type", "    luai_poll(L);\n"),
    },
    Change {
        file: "ltablib.c",
        why: "table.remove from the front of a long table",
        edit: After("  for ( ;pos<e; pos++) {\n", "    luai_poll(L);\n"),
    },
    Change {
        file: "ltablib.c",
        why: "table.concat of many empty strings, which fill no buffer",
        edit: After("  for (; i < last; i++) {\n", "    luai_poll(L);\n"),
    },
    Change {
        file: "ltablib.c",
        why: "a long sort, with a function of C's or without any",
        edit: After("static int sort_comp (lua_State *L, int a, int b) {\n", "  luai_poll(L);\n"),
    },
    Change {
        file: "lstrlib.c",
        why: "a set may be long, and is gone through for each byte",
        edit: After("      do {  /* look for a `]' */\n", "        luai_poll(ms->L);\n"),
    },
    Change {
        file: "lstrlib.c",
        why: "the same",
        edit: Replace(
            "static int matchbracketclass (int c, const char *p, const char *ec) {\n",
            "#define matchbracketclass(c,p,ec)	bracketclass(ms, c, p, ec)

static int bracketclass (MatchState *ms, int c, const char *p, const char *ec) {
",
        ),
    },
    Change {
        file: "lstrlib.c",
        why: "the same",
        edit: After("  while (++p < ec) {\n", "    luai_poll(ms->L);\n"),
    },
    Change {
        file: "lstrlib.c",
        why: "the same",
        edit: Replace(
            "static int singlematch (int c, const char *p, const char *ep) {\n",
            "#define singlematch(c,p,ep)	matchesone(ms, c, p, ep)

static int matchesone (MatchState *ms, int c, const char *p, const char *ep) {
",
        ),
    },
    Change {
        file: "lstrlib.c",
        why: "a greedy item takes all that it can before the rest of the pattern is tried",
        edit: Replace(
            "  while ((s+i)<ms->src_end && singlematch(uchar(*(s+i)), p, ep))\n    i++;\n",
            "  while ((s+i)<ms->src_end && singlematch(uchar(*(s+i)), p, ep)) {
    luai_poll(ms->L);
    i++;
  }
",
        ),
    },
    Change {
        file: "lstrlib.c",
        why: "the second bracket may be far away",
        edit: After("    while (++s < ms->src_end) {\n", "      luai_poll(ms->L);\n"),
    },
];
