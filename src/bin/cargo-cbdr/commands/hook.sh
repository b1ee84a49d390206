# Made by `cargo cbdr hook install`; `cargo cbdr hook uninstall` removes the lines between
# these two marks, and no others. Lines of your own go before or after them; `pushes`
# prints there what git passes to a pre-push hook on standard input.
pushed=$(cat)
pushes() { if [ -n "$pushed" ]; then printf '%s\n' "$pushed"; fi; }
kept=$(dirname -- "$0")/@KEPT@
if [ -x "$kept" ]; then
    pushes | "$kept" "$@" || exit $?
fi
if command -v cargo-cbdr >/dev/null; then
    (@CALL@
    ) || exit $?
else
    echo 'warning: cargo-cbdr is not installed, so nothing is compared' >&2
fi
