package progress

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALogGetsOneLineForShortWork(t *testing.T) {
	for want, err := range map[string]error{
		`^starting etcd done in \d\.\d s\n$`:      nil,
		`^starting etcd failed after \d\.\d s\n$`: errors.New("ended"),
	} {
		var out bytes.Buffer
		Start(&out, "starting etcd").Done(err)
		require.Regexp(t, want, out.String())
	}
}
