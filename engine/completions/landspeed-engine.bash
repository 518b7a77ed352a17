# bash completion of landspeed-engine: the program itself is asked, so that nothing here grows old.
_landspeed_engine() {
	local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} words
	if [ "$COMP_CWORD" -eq 1 ]; then
		words="$("$program" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p') --help --version"
	else
		words=$("$program" "${COMP_WORDS[1]}" --help 2>/dev/null | sed -n 's/^ *\(--[a-z0-9-]*\).*/\1/p')
	fi
	COMPREPLY=()
	case $current in
	-* | '') mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
	*) if [ "$COMP_CWORD" -eq 1 ]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"); fi ;;
	esac
}
# Values are mostly files: those are offered where no word fits.
complete -o default -F _landspeed_engine landspeed-engine
