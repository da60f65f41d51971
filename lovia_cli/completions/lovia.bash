# Completion of lovia in bash. Load it in ~/.bashrc:  eval "$(lovia completion bash)"
_lovia() {
    local line=${COMP_LINE:0:COMP_POINT} kind='' reply
    COMPREPLY=()
    while IFS= read -r reply; do
        if [[ -z $kind ]]; then
            kind=$reply
        else
            COMPREPLY+=("$reply")
        fi
    done < <("${1/#\~\//$HOME/}" __complete bash "$line" "$COMP_WORDBREAKS" 2>/dev/null)
    if [[ $kind == files ]]; then
        compopt -o default 2>/dev/null
    fi
}
complete -F _lovia lovia
