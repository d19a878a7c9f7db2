//go:build unix

package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The files that the section Import of a resource shows. tfplugindocs takes import-by-identity.tf only with what Terraform
// since 1.12 says of the provider, so that one has another name and a template of its own.
const (
	importCommands   = "import.sh"
	importByID       = "import-by-string-id.tf"
	importByIdentity = "import-with-identity.tf"
)

var importFiles = []string{importCommands, importByID, importByIdentity}

// importTo is the address in an import block.
var importTo = regexp.MustCompile(`(?m)^ *to += (\S+)$`)

// runImports forgets what was applied, imports it as each of the import files of the example has it, and applies the
// configuration to that. What terraform does not know yet is left out.
func (f *fixture) runImports(w *workspace, dir string) {
	f.Helper()
	for _, file := range importFiles {
		content, err := os.ReadFile(filepath.Join(root, "examples", dir, file))
		if os.IsNotExist(err) || file == importByIdentity && !knowsIdentities(w) {
			continue
		}
		if err != nil {
			f.Fatal(err)
		}
		f.Log(file)
		text := strings.NewReplacer("/guestbook", "/"+f.name, `"guestbook"`, `"`+f.name+`"`).Replace(string(content))
		if file == importCommands {
			f.runImportCommands(w, text)
		} else {
			f.applyImportBlock(w, text)
		}
		w.atRest()
	}
}

// runImportCommands runs "terraform import ADDRESS ID", line by line, and applies.
func (f *fixture) runImportCommands(w *workspace, script string) {
	f.Helper()
	commands := 0
	for line := range strings.Lines(script) {
		command := strings.Fields(line)
		if len(command) == 0 || command[0] == "#" {
			continue
		}
		if len(command) != 4 || command[0] != "terraform" || command[1] != "import" {
			f.Fatalf("%s has another command than terraform import ADDRESS ID: %s", importCommands, line)
		}
		commands++
		w.cli.want(exitEmpty, "state", "rm", command[2])
		w.cli.want(exitEmpty, command[1:]...)
	}
	if commands == 0 {
		f.Fatalf("%s has no command", importCommands)
	}
	w.apply()
}

// applyImportBlock applies the configuration with an import block beside it, which goes afterwards.
func (f *fixture) applyImportBlock(w *workspace, block string) {
	f.Helper()
	to := importTo.FindStringSubmatch(block)
	if to == nil {
		f.Fatalf("there is no address in\n%s", block)
	}
	w.cli.want(exitEmpty, "state", "rm", to[1])
	beside := filepath.Join(w.cli.dir, "import.tf")
	writeTo(f.T, beside, block)
	w.says(w.apply(), "1 imported, 0 added")
	if err := os.Remove(beside); err != nil {
		f.Fatal(err)
	}
}
