package admission_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every id by which a log, a metric, an Event or the command line says why is in docs/signals.md. They are read off the
// sources, so that none can be forgotten.
func TestEveryReasonIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/signals.md")
	require.NoError(t, err)
	for _, dir := range []string{".", "../audit", "../controller", "../drift", "../../pkg/identity"} {
		ids := reasons(t, dir)
		assert.NotEmpty(t, ids, "%s has no reasons any more: take it off the list", dir)
		for name, id := range ids {
			assert.Contains(t, string(text), "`"+id+"`", "%s in %s", name, dir)
		}
	}
}

// reasons are the constants of a package that are of a type Reason or are called one.
func reasons(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	require.NoError(t, err)
	ids := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			if group, ok := d.(*ast.GenDecl); ok && group.Tok == token.CONST {
				for _, s := range group.Specs {
					collect(ids, s.(*ast.ValueSpec))
				}
			}
		}
	}
	return ids
}

func collect(ids map[string]string, s *ast.ValueSpec) {
	kind, _ := s.Type.(*ast.Ident)
	for i, name := range s.Names {
		called := strings.HasPrefix(strings.ToLower(name.Name), "reason")
		if !called && (kind == nil || kind.Name != "Reason") || i >= len(s.Values) {
			continue
		}
		if value, ok := s.Values[i].(*ast.BasicLit); ok && value.Kind == token.STRING {
			if id, err := strconv.Unquote(value.Value); err == nil {
				ids[name.Name] = id
			}
		}
	}
}
