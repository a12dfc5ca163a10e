"""`kiviat completion`: the script that makes a shell ask kiviat for completions.

source <(kiviat completion bash)        kiviat completion fish | source
"""

from __future__ import annotations

from argparse import Namespace

from argcomplete.shell_integration import shellcode


def execute(arguments: Namespace) -> int:
    if arguments.shell == "zsh":
        print("autoload -U compinit && compinit")
    print(shellcode(["kiviat"], shell=arguments.shell))
    return 0
