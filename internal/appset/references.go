package appset

import (
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// references is what a Go template can read, never less than it does read.
type references struct {
	// fields are the chains .a.b.c and $.a.b.c.
	fields [][]string
	// everything: the template can read any parameter.
	everything bool
	// functions are all names of functions in the text.
	functions []string
	// mutates: a function in it writes into its arguments.
	mutates bool
	// quotesBraces: a constant in it holds "{{", so the author means to print that.
	quotesBraces bool
}

// mutatingFuncs of Sprig change a map that they are given; tpl may call them.
var mutatingFuncs = []string{"set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite", "tpl"}

func referencesOf(t *template.Template) references {
	var r references
	trees := t.Templates()
	slices.SortFunc(trees, func(a, b *template.Template) int { return strings.Compare(a.Name(), b.Name()) })
	for _, tree := range trees {
		if tree.Tree != nil {
			r.walk(tree.Root)
		}
	}
	// A template that defines others may hand them any data.
	if len(trees) > 1 {
		r.everything = true
	}
	return r
}

func (r *references) walk(node parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				r.walk(child)
			}
		}
	case *parse.ActionNode:
		r.walk(n.Pipe)
	case *parse.PipeNode:
		r.walkPipe(n)
	case *parse.IfNode:
		r.walkBranch(&n.BranchNode)
	case *parse.WithNode:
		r.everything = true // the dot is another one inside
		r.walkBranch(&n.BranchNode)
	case *parse.RangeNode:
		r.everything = true
		r.walkBranch(&n.BranchNode)
	case *parse.TemplateNode:
		r.everything = true
		r.walk(n.Pipe)
	case *parse.FieldNode:
		r.fields = append(r.fields, n.Ident)
	case *parse.VariableNode:
		r.walkVariable(n)
	case *parse.ChainNode:
		r.walk(n.Node)
	case *parse.DotNode:
		r.everything = true
	case *parse.IdentifierNode:
		r.function(n.Ident)
	case *parse.StringNode:
		r.quotesBraces = r.quotesBraces || isTemplated(n.Text)
	}
}

func (r *references) walkPipe(n *parse.PipeNode) {
	if n == nil {
		return
	}
	for _, command := range n.Cmds {
		for _, arg := range command.Args {
			r.walk(arg)
		}
	}
}

func (r *references) walkBranch(n *parse.BranchNode) {
	r.walk(n.Pipe)
	r.walk(n.List)
	r.walk(n.ElseList)
}

// walkVariable: $ is the root; any other variable holds what a pipeline gave
// it, and that pipeline is walked where it stands.
func (r *references) walkVariable(n *parse.VariableNode) {
	switch {
	case n.Ident[0] != "$":
	case len(n.Ident) == 1:
		r.everything = true
	default:
		r.fields = append(r.fields, n.Ident[1:])
	}
}

func (r *references) function(name string) {
	r.functions = append(r.functions, name)
	r.mutates = r.mutates || slices.Contains(mutatingFuncs, name)
	r.everything = r.everything || name == "tpl"
}

// anyUnknown reports whether anything that the template can read is Unknown:
// what a chain leads to, something on the way to it, or something inside it.
func (r *references) anyUnknown(params any) bool {
	if r.everything && ContainsUnknown(params) {
		return true
	}
	for _, chain := range r.fields {
		v := params
		for _, key := range chain {
			m, ok := v.(map[string]any)
			if !ok {
				break
			}
			v = m[key]
		}
		if ContainsUnknown(v) {
			return true
		}
	}
	return false
}

// missing lists the chains that lead nowhere, as .a.b.
func (r *references) missing(params any) []string {
	var out []string
	for _, chain := range r.fields {
		v, found := params, true
		for _, key := range chain {
			m, _ := v.(map[string]any)
			if v, found = m[key]; !found {
				break
			}
		}
		if name := "." + strings.Join(chain, "."); !found && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
