// Package build tells which build of dynawire this is.
package build

import "runtime/debug"

// Unknown is a build of no release and of no commit, as a test is.
const Unknown = "dev"

// Version is the version that the build was given (-ldflags "-X main.version=v1.2.3"), else the one that Go has put into it.
func Version(given string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return version(given, info)
}

// version prefers the module's version, which since Go 1.24 names the commit where there is no tag, to the commit alone.
func version(given string, info *debug.BuildInfo) string {
	switch {
	case given != "":
		return given
	case info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if revision == "" {
		return Unknown
	}
	return Unknown + "-" + revision + dirty
}
