//! Shorter ways for what lock scripts do most.

use super::Change;
use super::Edit::{Append, Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        file: "lobject.h",
        why: "few strings are ever a key: the hash that orders the keys of a table is made for those alone; the flag \
              that it is there lies in the header's padding",
        edit: Replace(
            "    lu_byte reserved;\n    unsigned int hash;\n",
            "    lu_byte reserved;\n    lu_byte hashed;\n    unsigned int hash;\n",
        ),
    },
    Change {
        file: "lstring.h",
        why: "the hash of a key, in whose order `pairs` goes: as in Redis it is Lua's own, but over all bytes",
        edit: Before(
            "LUAI_FUNC void luaS_resize (lua_State *L, int newsize);\n",
            "#define luaS_keyhash(ts)	((ts)->tsv.hashed ? (ts)->tsv.hash : luaS_hashkey(ts))

LUAI_FUNC unsigned int luaS_hashkey (TString *ts);
",
        ),
    },
    Change {
        file: "ltable.c",
        why: "the one place that needs it, with the next",
        edit: Replace(
            "#define hashstr(t,str)  hashpow2(t, (str)->tsv.hash)\n",
            "#define hashstr(t,str)  hashpow2(t, luaS_keyhash(str))\n",
        ),
    },
    Change {
        file: "ltable.c",
        why: "declares it",
        edit: Replace(
            "#include \"lstate.h\"\n#include \"ltable.h\"\n",
            "#include \"lstate.h\"\n#include \"lstring.h\"\n#include \"ltable.h\"\n",
        ),
    },
    Change {
        file: "lstring.c",
        why: "the lists of strings grow and shrink seldom: their hash is made anew then",
        edit: Replace(
            "      unsigned int h = gco2ts(p)->hash;\n",
            "      unsigned int h = hashtext(getstr(rawgco2ts(p)), gco2ts(p)->len);\n",
        ),
    },
    Change {
        file: "lstring.c",
        why: "it is not kept",
        edit: Replace("  ts->tsv.hash = h;\n", "  ts->tsv.hashed = 0;\n"),
    },
    Change {
        file: "lstring.c",
        why: "makes it",
        edit: Replace(
            "  unsigned int h = cast(unsigned int, l);  /* seed */
  size_t step = (l>>5)+1;  /* if string is too long, don't hash all its chars */
  size_t l1;
  for (l1=l; l1>=step; l1-=step)  /* compute hash */
    h = h ^ ((h<<5)+(h>>2)+cast(unsigned char, str[l1-1]));
  for (o = G(L)",
            "  unsigned int h = hashtext(str, l);
  for (o = G(L)",
        ),
    },
    Change {
        file: "lstring.c",
        why: "strings are told apart by another hash, eight bytes at a time; Lua's own leaves out every other byte of \
              the names of locks' channels, which then fall into few lists. Of a long string some words stand for all",
        edit: Before(
            "void luaS_resize (lua_State *L, int newsize) {\n",
            "typedef unsigned long long Word;

static Word word_at (const char *s) {
  Word w;
  memcpy(&w, s, 8);
  return w;
}

static Word half_at (const char *s) {
  unsigned int w;
  memcpy(&w, s, 4);
  return w;
}

#define SPREAD	0x9E3779B97F4A7C15ULL
#define mix(h,w)	((h) = ((h) ^ (w)) * SPREAD, (h) ^= (h) >> 32)

static unsigned int hashtext (const char *s, size_t l) {
  Word h = l;
  if (l >= 8) {
    size_t step = l < 256 ? 8 : l >> 5;
    size_t i;
    for (i = 0; i + 8 < l; i += step)
      mix(h, word_at(s + i));
    mix(h, word_at(s + l - 8));
  }
  else if (l >= 4)
    mix(h, half_at(s) << 32 | half_at(s + l - 4));
  else if (l > 0)
    mix(h, cast(Word, cast(unsigned char, s[0])) << 16 | cast(Word, cast(unsigned char, s[l >> 1])) << 8 |
           cast(unsigned char, s[l - 1]));
  return cast(unsigned int, h * SPREAD >> 32);
}

unsigned int luaS_hashkey (TString *ts) {
  const char *str = getstr(ts);
  size_t l = ts->tsv.len;
  unsigned int h = cast(unsigned int, l);
  for (; l > 0; l--)
    h = h ^ ((h<<5)+(h>>2)+cast(unsigned char, str[l-1]));
  ts->tsv.hash = h;
  ts->tsv.hashed = 1;
  return h;
}

",
        ),
    },
    Change {
        file: "lvm.c",
        why: "a field that is there is found without a call: globals, `redis.call`, `KEYS[1]`",
        edit: Before(
            "void luaV_gettable (lua_State *L, const TValue *t, TValue *key, StkId val) {\n",
            "#define findfield(h,key,o)	{ \\
  const Node *n_ = gnode(h, lmod(luaS_keyhash(key), sizenode(h))); \\
  do { \\
    if (ttisstring(gkey(n_)) && rawtsvalue(gkey(n_)) == (key)) { o = gval(n_); break; } \\
  } while ((n_ = gnext(n_)) != NULL); }

#define findelement(h,key,o)	{ \\
  int k_; \\
  lua_number2int(k_, nvalue(key)); \\
  if (cast(unsigned int, k_-1) < cast(unsigned int, (h)->sizearray) && luai_numeq(cast_num(k_), nvalue(key))) \\
    o = &(h)->array[k_-1]; }

/* goes on with the next instruction if there is something at `key' */
#define getfast(t,key,val)	if (ttistable(t)) { \\
  const Table *h_ = hvalue(t); \\
  const TValue *o_ = luaO_nilobject; \\
  if (ttisstring(key)) findfield(h_, rawtsvalue(key), o_) \\
  else if (ttisnumber(key)) findelement(h_, key, o_) \\
  if (!ttisnil(o_)) { setobj2s(L, val, o_); continue; } }

",
        ),
    },
    Change {
        file: "lvm.c",
        why: "globals",
        edit: Before("        Protect(luaV_gettable(L, &g, rb, ra));\n", "        getfast(&g, rb, ra);\n"),
    },
    Change {
        file: "lvm.c",
        why: "fields and elements",
        edit: Before(
            "        Protect(luaV_gettable(L, RB(i), RKC(i), ra));\n",
            "        getfast(RB(i), RKC(i), ra);\n",
        ),
    },
    Change {
        file: "lvm.c",
        why: "methods",
        edit: Before(
            "        Protect(luaV_gettable(L, rb, RKC(i), ra));\n",
            "        getfast(rb, RKC(i), ra);\n",
        ),
    },
    Change {
        file: "lapi.c",
        why: "all arguments of a command in one call; what is a number has no text yet",
        edit: Append(
            "typedef struct Slice { const char *text; size_t len; } Slice;

LUA_API int lua_arguments (lua_State *L, Slice *out, int count) {
  int i, kinds = 1;
  for (i = 0; i < count; i++) {
    const TValue *o = L->base + i;
    if (ttisstring(o)) {
      out[i].text = svalue(o);
      out[i].len = tsvalue(o)->len;
    }
    else if (ttisnumber(o)) {
      out[i].text = NULL;
      kinds = 2;
    }
    else
      return 0;
  }
  return kinds;
}
",
        ),
    },
];
