"""`kiviat completion`: prints a script by which a shell gets completions from kiviat.

source <(kiviat completion bash)        kiviat completion fish | source
"""

from __future__ import annotations

from argcomplete.shell_integration import shellcode

from kiviat.cli.options.request import CompletionRequest


def execute(request: CompletionRequest) -> int:
    """Print the completion script of the shell."""
    if request.shell == "zsh":
        print("autoload -U compinit && compinit")
    print(shellcode(["kiviat"], shell=request.shell))
    return 0
