package identity

import "strings"

// invocation is one program run with its arguments, and what was said in front of it.
type invocation struct {
	module *Module
	// words follow the module; the first fromCommand of them stand in the container's command.
	words       []string
	fromCommand int
	// set and cleared are what env or a shell does to the environment of this program.
	set     []assignment
	cleared bool
	// conditional: it runs if some test says so, else nothing of Dynamo's does.
	conditional bool
	// lost are words behind a shell string that it does not use.
	lost []string
}

// recognise finds the Dynamo module that words run, through exec, env, shells, the interpreter's options and wrappers
// that only run what follows them. set is what the shell around it has set. The zero invocation means that there is no
// module, or that it cannot be proven.
func (e *environment) recognise(words []string, fromCommand int, set []assignment, depth int) (inv invocation) {
	inv.set = set
	uv := false
	for i := 0; i < len(words); {
		program := baseName(words[i])
		// Without a command the image's entrypoint may be the interpreter, and "uv run" may be one.
		options := i == 0 || uv
		uv = program == "uv"
		if module, next := programModule(program, words, i, options); module != nil {
			inv.module, inv.words = module, words[next:]
			inv.fromCommand = max(0, fromCommand-next)
			return inv
		}
		switch {
		case isShell(program):
			return e.shell(words, i+1, fromCommand, inv, depth)
		case program == "exec":
			i = skipOptions(words, i+1, "a")
		case program == "env":
			var ok bool
			if i, ok = inv.env(words, i+1); !ok {
				return invocation{}
			}
		case program == "mpirun" || program == "mpiexec" || program == "srun":
			// Rank 0 alone runs the command behind TensorRT-LLM's launcher.
			for i++; i < len(words) && baseName(words[i]) != launcher; i++ {
			}
		default:
			next, ok := skipWrapper(program, words, i+1)
			if !ok {
				return invocation{}
			}
			i = next
		}
	}
	return invocation{}
}

// programModule is the module that the program at words[i] runs, and the index of the first word after it. options tells
// that the interpreter's own may stand there.
func programModule(program string, words []string, i int, options bool) (*Module, int) {
	if isPython(program) {
		name, next := pythonModule(words, i+1)
		return moduleByName(name), next
	}
	if options && program == "-m" && i+1 < len(words) {
		return moduleByName(words[i+1]), i + 2
	}
	return moduleByBinary(program), i + 1
}

// isPython reports whether a program is the interpreter: python, python3, python3.12.
func isPython(program string) bool {
	rest, ok := strings.CutPrefix(program, "python")
	if !ok {
		return false
	}
	for i := 0; i < len(rest); i++ {
		if (rest[i] < '0' || rest[i] > '9') && rest[i] != '.' {
			return false
		}
	}
	return true
}

// pythonModule reads the interpreter's options up to -m and returns the module's name ("" where none is run) and the
// index of the first word after it. Options may be clustered (-um) and carry their argument (-Wdefault, -mdynamo.vllm).
func pythonModule(words []string, i int) (string, int) {
	for ; i < len(words); i++ {
		word := words[i]
		if len(word) < 2 || word[0] != '-' {
			return "", i
		}
		if strings.HasPrefix(word, "--") {
			if word == "--check-hash-based-pycs" {
				i++
			}
			continue
		}
	cluster:
		for j := 1; j < len(word); j++ {
			switch word[j] {
			case 'm':
				if j+1 < len(word) {
					return word[j+1:], i + 1
				}
				if i+1 < len(words) {
					return words[i+1], i + 2
				}
				return "", i
			case 'c':
				return "", i
			case 'W', 'X':
				if j+1 == len(word) {
					i++
				}
				break cluster
			}
		}
	}
	return "", i
}

// env reads what follows the program "env": options, then assignments. It reports false where it cannot tell.
func (inv *invocation) env(words []string, i int) (int, bool) {
	for ; i < len(words); i++ {
		word := words[i]
		name, text, assigns := strings.Cut(word, "=")
		switch {
		case word == "-" || word == "-i" || word == "--ignore-environment":
			inv.cleared = true
		case word == "-u" || word == "--unset":
			i++
			if i < len(words) {
				inv.set = append(inv.set, assignment{name: words[i], gone: true})
			}
		case name == "--unset" && assigns:
			inv.set = append(inv.set, assignment{name: text, gone: true})
		case word == "-C" || word == "--chdir":
			i++
		case name == "--chdir" && assigns, word == "-v", word == "--debug", word == "--":
		case strings.HasPrefix(word, "-"):
			return i, false
		case assigns:
			inv.set = append(inv.set, assignment{name: name, text: text})
		default:
			return i, true
		}
	}
	return i, false
}

const launcher = "trtllm-llmapi-launch"

// wrapper is a program that does nothing but run what follows its own arguments.
type wrapper struct {
	name string
	// with are the short options, and long the long ones, that take the next word.
	with string
	long []string
	// words of its own stand between the options and the program.
	words int
	// verb is the subcommand that runs a program, and stands behind options of its own.
	verb string
	// every option takes the next word, unless its argument is joined to it with "=".
	every bool
	// not is an option with which it does more than that.
	not string
}

// Programs that images and people put in front of a server. One that may run something else, or several times, is not here.
var wrappers = []wrapper{
	{name: "tini", with: "pe"},
	{name: "dumb-init", with: "r", long: []string{"--rewrite"}},
	{name: "catatonit"},
	{name: "nvidia_entrypoint.sh"}, // NVIDIA's images: exec "$@"
	{name: "nohup"}, {name: "setsid"},
	{name: "nice", with: "n", long: []string{"--adjustment"}},
	{name: "ionice", with: "cn", long: []string{"--class", "--classdata"}},
	{name: "chrt", words: 1},
	{name: "taskset", words: 1},
	{name: "numactl", with: "iNmpCl", long: []string{"--interleave", "--cpunodebind", "--membind", "--physcpubind", "--preferred"}},
	{name: "stdbuf", with: "ioe", long: []string{"--input", "--output", "--error"}},
	{name: "timeout", with: "ks", long: []string{"--kill-after", "--signal"}, words: 1},
	{name: "time", with: "fo"},
	{name: launcher},
	{name: "opentelemetry-instrument"}, {name: "ddtrace-run"},
	{name: "gosu", words: 1}, {name: "su-exec", words: 1}, {name: "s6-setuidgid", words: 1},
	{name: "nsys", verb: "profile", every: true},
	{name: "uv", verb: "run", with: "pwifPC", not: "--env-file", long: []string{
		"--python", "--with", "--with-editable", "--with-requirements", "--extra", "--no-extra", "--group", "--no-group", "--only-group",
		"--package", "--project", "--directory", "--index", "--default-index", "--index-url", "--extra-index-url", "--find-links",
		"--config-file", "--cache-dir", "--color", "--python-platform", "--link-mode", "--prerelease", "--resolution",
	}},
}

// skipWrapper is the index of the program that a wrapper runs; false where program is no wrapper.
func skipWrapper(program string, words []string, i int) (int, bool) {
	for k := range wrappers {
		w := &wrappers[k]
		if w.name != program {
			continue
		}
		if w.verb != "" {
			i = skipOptions(words, i, w.with, w.long...)
			if i >= len(words) || words[i] != w.verb {
				return i, false
			}
			i++
		}
		first := i
		if w.every {
			i = skipPairs(words, i)
		} else {
			i = skipOptions(words, i, w.with, w.long...) + w.words
		}
		return i, i < len(words) && (w.not == "" || !hasOption(words[first:i], w.not))
	}
	return i, false
}

// skipPairs is the index of the first word that is neither an option nor an option's argument.
func skipPairs(words []string, i int) int {
	for i < len(words) && strings.HasPrefix(words[i], "-") {
		if !strings.Contains(words[i], "=") {
			i++
		}
		i++
	}
	return i
}

func hasOption(words []string, name string) bool {
	for _, word := range words {
		if before, _, _ := strings.Cut(word, "="); before == name {
			return true
		}
	}
	return false
}

// skipOptions is the index of the first word that is no option; -m is none, for a module follows it. The short options in with and the long ones take the
// next word unless their argument is joined to them.
func skipOptions(words []string, i int, with string, long ...string) int {
	for ; i < len(words); i++ {
		word := words[i]
		if len(word) < 2 || word[0] != '-' || word == "-m" && strings.IndexByte(with, 'm') < 0 {
			return i
		}
		if word == "--" {
			return i + 1
		}
		if len(word) == 2 && strings.IndexByte(with, word[1]) >= 0 {
			i++
			continue
		}
		for _, l := range long {
			if word == l {
				i++
			}
		}
	}
	return i
}

// baseName is the program without its directories.
func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
