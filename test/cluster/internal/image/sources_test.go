package image

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSourceLines(t *testing.T) {
	for name, tc := range map[string]struct {
		targets, host string
		want          []string
	}{
		"a host of the same release": {
			host: "bookworm",
			targets: `http://mirror.example/debian/ bookworm main Debian
http://mirror.example/debian/ bookworm main Debian
http://mirror.example/debian/ bookworm-updates main Debian
http://mirror.example/security/ bookworm-security main Debian
http://mirror.example/debian/ bookworm contrib Debian
http://mirror.example/debian/ bookworm-backports main Debian
https://vendor.example/apt/ bookworm main Vendor
https://vendor.example/apt/ nodistro main $(ORIGIN)
`,
			want: []string{
				"http://mirror.example/debian/ bookworm main",
				"http://mirror.example/debian/ bookworm-updates main",
				"http://mirror.example/security/ bookworm-security main",
			},
		},
		"a newer host": {
			host:    "trixie",
			targets: "http://mirror.example/debian/ trixie main Debian\n",
			want:    []string{"http://mirror.example/debian/ bookworm main"},
		},
		"before the first update": {
			host:    "bookworm",
			targets: "http://mirror.example/debian/ bookworm main $(ORIGIN)\ncdrom:[Debian]/ bookworm main $(ORIGIN)\n",
			want:    []string{"http://mirror.example/debian/ bookworm main"},
		},
		"another distribution": {host: "noble", targets: "http://mirror.example/ubuntu/ noble main Ubuntu\n"},
		"nothing":              {host: "bookworm"},
	} {
		t.Run(name, func(t *testing.T) {
			got := sourceLines(tc.targets, tc.host)
			require.Len(t, got, len(tc.want))
			for i, want := range tc.want {
				require.True(t, strings.HasPrefix(got[i], "deb "), got[i])
				require.True(t, strings.HasSuffix(got[i], want), got[i])
			}
		})
	}
}

func TestAccessOptions(t *testing.T) {
	dump := `APT::Architecture "amd64";
Acquire::cdrom::mount "/media/cdrom/";
Acquire::Check-Valid-Until "false";
Acquire::http::Proxy "http://proxy.example:3142";
Acquire::https::Verify-Peer "true";
Acquire::Languages:: "none";
`
	require.Equal(t, []string{
		`Acquire::Check-Valid-Until "false"`,
		`Acquire::http::Proxy "http://proxy.example:3142"`,
		`Acquire::https::Verify-Peer "true"`,
	}, accessOptions([]byte(dump)))
}

func TestOSRelease(t *testing.T) {
	file := "NAME=\"Debian\"\nVERSION_CODENAME=bookworm\nQUOTED=\"x\"\n"
	require.Equal(t, "bookworm", osRelease(file, "VERSION_CODENAME"))
	require.Equal(t, "x", osRelease(file, "QUOTED"))
	require.Empty(t, osRelease(file, "ABSENT"))
}

func TestPipTakesWheelsThatFitTheImage(t *testing.T) {
	args := strings.Join(pipArguments("/dir", "arm64"), " ")
	for _, want := range []string{"--target /dir", "--python-version 3.11", "--abi cp311", "manylinux_2_36_aarch64", "manylinux_2_5_aarch64", "manylinux2014_aarch64"} {
		require.Contains(t, args, want)
	}
	require.NotContains(t, args, "manylinux_2_37")
	require.NotContains(t, args, "x86_64")
}
