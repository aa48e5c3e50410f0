package shell_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/identity/shell"
)

// env is what the container has; SECRET is known to the running pod only.
func env(name string) (string, bool) {
	text, ok := map[string]string{
		"NS": "team-a", "EMPTY": "", "MANY": "--a  --b c", "SECRET": shell.Hidden, "PADDED": " x ",
	}[name]
	return text, ok
}

// Each script with what it runs: words in brackets, "?" in front of what may not run, "if" under a condition, NAME=value before the words.
func TestRun(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		args         []string
		want         string
	}{
		{"words", `python3 -m mod --a b`, nil, "[python3 -m mod --a b]"},
		{"quotes join", `mod --a="b c"'d e'f`, nil, "[mod --a=b cd ef]"},
		{"an empty quoted word stays", `mod "" ''`, nil, "[mod  ]"},
		{"continuation", "mod \\\n  --a \\\n  b", nil, "[mod --a b]"},
		{"backslash", `mod a\ b \$NS "\$NS" "\n"`, nil, `[mod a b $NS $NS \n]`},
		{"comment and blank lines", "\n# mod x\n\nmod y # z\n", nil, "[mod y]"},

		{"variable", `mod $NS ${NS}-x "dyn://${NS}.b.c"`, nil, "[mod team-a team-a-x dyn://team-a.b.c]"},
		{"single quotes keep", `mod '$NS'`, nil, "[mod $NS]"},
		{"unquoted splits", `mod $MANY.`, nil, "[mod --a --b c.]"},
		{"quoted does not split", `mod "$MANY"`, nil, "[mod --a  --b c]"},
		{"padding separates", `mod a${PADDED}b`, nil, "[mod a x b]"},
		{"empty disappears", `mod $EMPTY x`, nil, "[mod x]"},
		{"nothing sets it", `mod $NOWHERE "${NOWHERE}"`, nil, "[mod ${NOWHERE} ${NOWHERE}]"},
		{"hidden is open", `mod $SECRET`, nil, "[mod ?*]"},
		{"hidden in quotes is one word", `mod "x-$SECRET"`, nil, "[mod x-?]"},
		{"the shell's own", `mod "$HOSTNAME" "$?" "$RANDOM"`, nil, "[mod ? ? ?]"},
		{"command substitution", `mod "$(hostname)" $(cat f)`, nil, "[mod ? ?*]"},
		{"arithmetic", `mod "$((1 + 1))"`, nil, "[mod ?]"},

		{"default where unset", `mod ${NOWHERE:-x} ${NOWHERE-y}`, nil, "[mod x y]"},
		{"default where empty", `mod ${EMPTY:-x} "${EMPTY-y}"`, nil, "[mod x ]"},
		{"default not needed", `mod ${NS:-x}`, nil, "[mod team-a]"},
		{"default of a hidden one", `mod "${SECRET:-x}"`, nil, "[mod ?]"},
		{"alternative", `mod ${NS:+x} "${EMPTY:+y}" ${NOWHERE+z}`, nil, "[mod x ]"},
		{"default that assigns", `: ${A:=x}; mod $A`, nil, "[: x][mod x]"},
		{"must be set", `mod ${NOWHERE:?no}`, nil, "[mod ${NOWHERE}]"},
		{"suffix removal is not followed", `mod "${NS%-*}" "${#NS}" "${NS:0:2}" "${NS/a/b}"`, nil, "[mod ? ? ? ?]"},

		{"all arguments", `mod "$@"`, []string{"sh", "--a", "b c"}, "[mod --a b c]"},
		{"all arguments around", `mod "x$@y"`, []string{"sh", "1", "2"}, "[mod x1 2y]"},
		{"no arguments", `mod "$@"`, nil, "[mod]"},
		{"joined arguments", `mod "$*"`, []string{"sh", "1", "2"}, "[mod 1 2]"},
		{"numbered", `mod $0 $1 "$2" "${3}" $9`, []string{"zero", "one", "t w o"}, "[mod zero one t w o ]"},
		{"shift", `shift; mod "$@"`, []string{"sh", "1", "2"}, "[mod 2]"},
		{"set", `set -- --a "$NS"; mod "$@"`, []string{"sh", "1"}, "[mod --a team-a]"},

		{"list", `first && second; third`, nil, "[first][second][third]"},
		{"pipeline", `mod x 2>&1 | tee log`, nil, "[mod x][tee log]"},
		{"background", `first & second; wait`, nil, "[first][second][wait]"},
		{"redirections", `mod <in >out 2>>err`, nil, "[mod]"},
		{"group and subshell", `{ a; (b); } && c`, nil, "[a][b][c]"},
		{"time", `time mod x`, nil, "[mod x]"},
		{"otherwise", `first || second`, nil, "[first]?[second]"},
		{"under a condition", `[ -n "$NS" ] && mod; test x && mod; [[ x ]] && mod; ! x && mod`, nil,
			"[[ -n team-a ]]if [mod][test x]if [mod]if [mod][x]if [mod]"},
		{"one or the other", `[ x ] && a || b`, nil, "[[ x ]]if [a]?[b]"},
		{"guard that ends", `cd /x || exit 1; mod`, nil, "[cd /x][mod]"},
		{"branch", `if a; then b; else c; fi; d`, nil, "?[a]?[b]?[c][d]"},
		{"loops", `until a; do b; done; for i in 1 2; do c $i; done; d`, nil, "?[a]?[b]?[c ?*][d]"},
		{"function", `f() { b; }; f`, nil, "?[b][f]"},
		{"nothing behind exec", `exec mod; other`, nil, "[exec mod]"},
		{"nothing behind exit", `exit 0; other`, nil, ""},
		{"exec without a program goes on", `exec 2>&1; mod`, nil, "[exec][mod]"},
		{"exec in the background goes on", `exec a & b`, nil, "[exec a][b]"},

		{"assignment for one command", `A=1 B=$NS mod $A; other`, nil, "A=1 B=team-a [mod ${A}][other]"},
		{"assignment for the shell", `A=1; mod $A`, nil, "[mod 1]"},
		{"assignment of an exported one", `NS=b; mod $NS`, nil, "NS=b [mod b]"},
		{"export", `export A=$NS B; mod`, nil, "A=team-a [mod]"},
		{"export later", `A=1; export A; mod`, nil, "A=1 [mod]"},
		{"declare -x", `declare -x A=1; mod`, nil, "A=1 [mod]"},
		{"set -a", `set -a; A=1; mod`, nil, "A=1 [mod]"},
		{"append", `A=1; A+=2; mod $A`, nil, "[mod 12]"},
		{"unset", `unset NS; mod $NS`, nil, "-NS [mod ${NS}]"},
		{"subshell keeps to itself", `(export A=1); mod`, nil, "[mod]"},
		{"assigned under a condition", `[ x ] && A=1; mod "$A"`, nil, "[[ x ]][mod ?]"},
		{"assigned in a branch", `if x; then A=1; fi; mod "$A"`, nil, "?[x][mod ?]"},
		{"assigned in a list", `a && A=1 && mod $A`, nil, "[a][mod 1]"},
		{"assigned from a command", `A=$(x); mod "$A"`, nil, "[mod ?]"},
		{"read", `read A; mod "$A"`, nil, "[mod ?]"},
		{"sourced", `. /env; mod "$NS" "$OTHER"`, nil, "[mod team-a ?]"},
		{"exported from a command", `export $(cat /env); mod "$NS" "$OTHER"`, nil, "[mod team-a ?]"},
		{"assigned after sourcing", `. /env; A=1; mod "$A"`, nil, "[mod 1]"},

		{"array", `A=(1 "2 3" $NS); A+=(4); mod "${A[@]}" "$A"`, nil, "[mod 1 2 3 team-a 4 1]"},
		{"array without quotes", `A=(1 "2 3"); mod ${A[@]}x "${A[*]}"`, nil, "[mod 1 2 3x 1 2 3]"},
		{"array that is empty", `A=(); mod "${A[@]}" x`, nil, "[mod x]"},
		{"array that nothing sets", `mod "${A[@]}" x`, nil, "[mod x]"},
		{"array of one", `A=1; A+=(2); mod "${A[@]}" "${NS[@]}"`, nil, "[mod 1 2 team-a]"},
		{"declared array", `declare -a A=(1 2); mod "${A[@]}"`, nil, "[mod 1 2]"},
		{"array that grows under a condition", `A=(1); [ x ] && A+=(2); mod "${A[@]}"`, nil, "[[ x ]][mod ?*]"},
		{"array that grows in a branch", `A=(1); if x; then A+=(2); fi; mod "${A[@]}"`, nil, "?[x][mod ?*]"},
		{"array with keys", `declare -A A=([x]=1); mod "${A[@]}"`, nil, "[mod ?*]"},
		{"array with an element set", `A=(1); A[3]=2; mod "${A[@]}"`, nil, "[mod ?*]"},
		{"array from a command", `A=($(x)); mod "${A[@]}"; mapfile -t B; mod "${B[@]}"`, nil, "[mod ?*][mod ?*]"},
		{"a part of an array", `A=(1 2); mod "${A[1]}" "${#A[@]}" "${A[@]:1}" "${A[@]+x}"`, nil, "[mod ? ? ?* ?*]"},
		{"a part of the arguments", `mod "${@:2}"`, []string{"sh", "1", "2"}, "[mod ?*]"},
		{"arguments in a text", `A="$@"; mod "$A" $@`, []string{"sh", "1", "2 3"}, "[mod 1 2 3 1 2 3]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := shell.Run(shell.Script{Text: tc.script, Args: tc.args, Lookup: env})
			require.NoError(t, err)
			assert.Equal(t, tc.want, strings.ReplaceAll(written(r.Commands), shell.Hidden, "?"))
		})
	}
}

func written(commands []shell.Command) string {
	var b strings.Builder
	for _, c := range commands {
		b.WriteString([...]string{"?", "if ", ""}[c.Chance])
		for _, v := range c.Env {
			if v.Gone {
				fmt.Fprintf(&b, "-%s ", v.Name)
				continue
			}
			fmt.Fprintf(&b, "%s=%s ", v.Name, v.Value)
		}
		fmt.Fprintf(&b, "%v", c.Words)
	}
	return b.String()
}

func TestLost(t *testing.T) {
	args := []string{"zero", "one", "two"}
	for script, want := range map[string][]int{
		`mod`:                        {0, 1, 2},
		`mod "$@"`:                   {0},
		`mod $*`:                     {0},
		`mod $1`:                     {0, 2},
		`mod ${2} $0`:                {1},
		`if x; then mod "$1"; fi`:    {0, 2},
		`mod "$(echo $1)" $(( $2 ))`: {0},
		`for a; do mod $a; done`:     {0},
		`shift; mod`:                 {0},
		`mod ${@:2}`:                 {0},
		`mod '$@'`:                   {0, 1, 2},
	} {
		r, err := shell.Run(shell.Script{Text: script, Args: args, Lookup: env})
		require.NoError(t, err, script)
		assert.Equal(t, want, r.Lost, script)
	}
}

func TestUnreadable(t *testing.T) {
	for _, script := range []string{
		`mod "`, `if`, `mod $(`, `)`, strings.Repeat("mod;", 5000), strings.Repeat("(", 200) + "mod" + strings.Repeat(")", 200),
	} {
		_, err := shell.Run(shell.Script{Text: script, Lookup: env})
		assert.Error(t, err, script)
	}
}

func FuzzRun(f *testing.F) {
	for _, script := range []string{
		`exec python3 -m dynamo.vllm --namespace "${NS:-x}" "$@" 2>&1 | tee log`, `A=1 B=$A mod $* ${C:=d}`,
		`if [ "$1" = a ]; then shift; set -- x; fi; for i; do f $i; done`, `a=(1 2); x[1]=2; echo ${a[@]} $'\n' $"x" <(y) @(z) {a,b}`,
		`f() { local a=1; read -r b; unset c; }; (f) & wait`, `declare -x A; export A+=1 B; . x; eval y; printf -v z 1`,
		"cat <<E\n$NS $(x)\nE\n", `let a=1; ((b++)); [[ a == b ]] && c || d; time -p e; coproc g; ! h`, `case $NS in a) b;; *) c;; esac`,
		`"$@"x"$@" $@$* "${@}" ${0} $10 ${10}`, `select x in 1; do y; done`, "\x00 '\x00' $\x00",
	} {
		f.Add(script, "one", "two words")
	}
	f.Fuzz(func(t *testing.T, script, one, two string) {
		r, err := shell.Run(shell.Script{Text: script, Args: []string{"sh", one, two}, Lookup: env})
		if err != nil {
			return
		}
		for _, c := range r.Commands {
			if len(c.Words) == 0 {
				t.Fatal("a command without words")
			}
		}
	})
}
