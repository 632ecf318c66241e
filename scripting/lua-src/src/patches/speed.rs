//! Shorter ways for what lock scripts do most.

use super::Change;
use super::Edit::{Append, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        file: "lvm.c",
        why: "most keys are strings: `redis`, `call`",
        edit: Replace(
            "      const TValue *res = luaH_get(h, key); /* do a primitive get */\n",
            "      const TValue *res = ttisstring(key) ? luaH_getstr(h, rawtsvalue(key)) : luaH_get(h, key);\n",
        ),
    },
    Change {
        file: "lapi.c",
        why: "all arguments of a command in one call; what is a number has no text yet",
        edit: Append(
            "typedef struct Slice { const char *text; size_t len; } Slice;

LUA_API int lua_arguments (lua_State *L, Slice *out, int count) {
  int i;
  for (i = 0; i < count; i++) {
    const TValue *o = L->base + i;
    if (ttisstring(o)) {
      out[i].text = svalue(o);
      out[i].len = tsvalue(o)->len;
    }
    else if (ttisnumber(o))
      out[i].text = NULL;
    else
      return 0;
  }
  return 1;
}
",
        ),
    },
];
