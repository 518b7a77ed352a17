"""The command `completion`: what the shell needs so that Tab completes commands, options and values."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence

ANSWER = "--answer"
"""`landspeed completion --answer SHELL WORD…`: what the scripts below call, with the words up to the cursor."""

BASH = """\
# Completion of landspeed for bash.  source <(landspeed completion bash)
_landspeed() {
    local IFS=$'\\n'
    COMPREPLY=($("${COMP_WORDS[0]}" completion --answer bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null))
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[/=.] ]] && compopt -o nospace
}
complete -F _landspeed landspeed
"""
ZSH = """\
#compdef landspeed
# Completion of landspeed for zsh.  source <(landspeed completion zsh), after compinit
_landspeed() {
    local -a found
    found=("${(@f)$("${words[1]}" completion --answer zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    compadd -S '' -- "${(@M)found:#*[/=.]}"
    compadd -S ' ' -- "${(@)found:#(*[/=.]|)}"
}
if [ "$funcstack[1]" = _landspeed ]; then _landspeed "$@"; else compdef _landspeed landspeed; fi
"""
FISH = """\
# Completion of landspeed for fish.  landspeed completion fish | source
function __landspeed
    set -l words (commandline -opc)
    $words[1] completion --answer fish $words[2..] (commandline -ct) 2>/dev/null
end
complete -c landspeed -f -a '(__landspeed)'
"""
SHELLS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def add_completion(made: argparse.ArgumentParser) -> None:
    """Arguments of `completion`."""
    made.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    made.epilog = (
        "bash: source <(landspeed completion bash) in ~/.bashrc; zsh: source <(landspeed completion zsh) in ~/.zshrc, "
        "after compinit; fish: landspeed completion fish | source in ~/.config/fish/config.fish"
    )


def do_completion(parsed: argparse.Namespace) -> int:
    """Print the script."""
    print(SHELLS[parsed.shell], end="")
    return 0


def answer_shell(words: Sequence[str]) -> None:
    """Print the candidates, one a line. `words`: the shell, then the words up to the cursor; of bash, the line."""
    from landspeed.cli.completion.answer import answer

    shell, *rest = words
    if shell == "bash":
        rest = _words(rest[0])[1:]
    found = answer(rest)
    if shell == "bash" and rest:
        # bash begins a new word at these (COMP_WORDBREAKS), and puts the candidate in place of that alone.
        kept = max(
            (rest[-1].rfind(each) + 1 for each in "=:" if each in os.environ.get("COMP_WORDBREAKS", "=:")), default=0
        )
        found = [each[kept:] for each in found]
    print("\n".join(found))


def _words(line: str) -> list[str]:
    """The words of a line, the last of which may be empty or have a quotation that is not closed."""
    for end in ("", '"', "'"):
        try:
            words = shlex.split(line + end)
        except ValueError:
            continue
        return [*words, ""] if not end and line[-1:].isspace() else words
    return line.split()
