//go:build modules

package modules_test

import "strings"

// module is one of Dynamo's programs and what it is asked.
type module struct {
	name string
	// always is what every command line of it needs.
	always string
	cases  []testCase
}

// testCase is a command line and an environment, as words between spaces; ” is an empty word.
type testCase struct {
	args, env string
	// in names the releases that are asked; empty: all.
	in string
	// ends is why the process ends for a reason that says nothing about who it would have been, by release.
	ends marks
}

// marks are reasons by release.
type marks map[string]string

// always is one reason for every release.
func always(why string) marks { return only(strings.Join(releases, " "), why) }

// only is one reason for some releases.
func only(in, why string) marks {
	m := marks{}
	for _, release := range strings.Fields(in) {
		m[release] = why
	}
	return m
}

// name is the case as it would be typed.
func (c testCase) name() string {
	if c.args == "" && c.env == "" {
		return "nothing"
	}
	return strings.TrimSpace(c.env + " " + c.args)
}

func (m *module) question(c testCase) question {
	q := question{Args: words(m.always + " " + c.args), Env: map[string]string{}}
	for _, word := range words(c.env) {
		name, value, _ := strings.Cut(word, "=")
		q.Env[name] = value
	}
	return q
}

func words(text string) []string {
	all := strings.Fields(text)
	for i, word := range all {
		if word == "''" {
			all[i] = ""
		}
	}
	return all
}

// join makes one list of several.
func join(lists ...[]testCase) []testCase {
	var all []testCase
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
