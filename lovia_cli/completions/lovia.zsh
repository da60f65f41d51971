#compdef lovia
# Completion of lovia in zsh. Load it in ~/.zshrc, after compinit:  eval "$(lovia completion zsh)"
_lovia() {
    local -a lines
    lines=("${(@f)$(${(Q)words[1]} __complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    case ${lines[1]} in
        files)
            [[ $PREFIX == --*=* ]] && compset -P '*='
            _files
            ;;
        words) (( $#lines > 1 )) && compadd -- "${(@)lines[2,-1]}" ;;
    esac
}
compdef _lovia lovia
