# What the scripts of install.d share. A command is shown as it could be typed, then run.

say() { printf '== %s\n' "$*"; }
typed() { printf '  '; printf ' %q' "$@"; printf '\n'; }
shown() { typed "$@" >&2; "$@"; }
