package appset

import (
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// references is what a Go template can read, never less than it does read.
//
// A chain stands for everything below it. So what with, range, template and tpl
// make their dot is counted where it is computed, and the dot inside needs no
// counting.
type references struct {
	// fields are the chains .a.b.c and $.a.b.c that start at the parameters.
	fields [][]string
	// everything: the template uses the parameters as a whole.
	everything bool
	// functions are all names of functions in the text.
	functions []string
	// mutates: a function in it writes into its arguments.
	mutates bool
	// calls: a template in it calls another one.
	calls bool
	// quotesBraces: a constant in it holds "{{", so the author means to print that.
	quotesBraces bool
}

// mutatingFuncs of Sprig change a map that they are given; tpl may call them.
var mutatingFuncs = []string{"set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite", "tpl"}

// scope says whether the dot and $ are the parameters at some place of a template.
type scope struct{ dot, dollar bool }

func referencesOf(t *template.Template) references {
	var r references
	trees := t.Templates()
	slices.SortFunc(trees, func(a, b *template.Template) int { return strings.Compare(a.Name(), b.Name()) })
	for _, tree := range trees {
		if tree.Tree == nil {
			continue
		}
		main := tree.Name() == t.Name() // the others get what a template action hands them
		r.walk(tree.Root, scope{dot: main, dollar: main})
	}
	return r
}

func (r *references) walk(node parse.Node, in scope) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				r.walk(child, in)
			}
		}
	case *parse.ActionNode:
		r.walk(n.Pipe, in)
	case *parse.PipeNode:
		r.walkPipe(n, in)
	case *parse.IfNode:
		r.walkBranch(&n.BranchNode, in, in)
	case *parse.WithNode:
		r.walkBranch(&n.BranchNode, in, scope{dollar: in.dollar})
	case *parse.RangeNode:
		r.walkBranch(&n.BranchNode, in, scope{dollar: in.dollar})
	case *parse.TemplateNode:
		r.calls = true
		r.walk(n.Pipe, in)
	case *parse.FieldNode:
		if in.dot {
			r.fields = append(r.fields, n.Ident)
		}
	case *parse.VariableNode:
		r.walkVariable(n, in)
	case *parse.ChainNode:
		r.walk(n.Node, in)
	case *parse.DotNode:
		r.everything = r.everything || in.dot
	case *parse.IdentifierNode:
		r.functions = append(r.functions, n.Ident)
		r.calls = r.calls || n.Ident == "tpl"
		r.mutates = r.mutates || slices.Contains(mutatingFuncs, n.Ident)
	case *parse.StringNode:
		r.quotesBraces = r.quotesBraces || isTemplated(n.Text)
	}
}

func (r *references) walkPipe(n *parse.PipeNode, in scope) {
	if n == nil {
		return
	}
	for _, command := range n.Cmds {
		for _, arg := range command.Args {
			r.walk(arg, in)
		}
	}
}

// walkBranch: only the first list has the dot of the branch.
func (r *references) walkBranch(n *parse.BranchNode, in, inside scope) {
	r.walk(n.Pipe, in)
	r.walk(n.List, inside)
	r.walk(n.ElseList, in)
}

// walkVariable: $ is the root; any other variable holds what a pipeline gave
// it, and that pipeline is walked where it stands.
func (r *references) walkVariable(n *parse.VariableNode, in scope) {
	switch {
	case n.Ident[0] != "$" || !in.dollar:
	case len(n.Ident) == 1:
		r.everything = true
	default:
		r.fields = append(r.fields, n.Ident[1:])
	}
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
			if texts, ok := v.(map[string]string); ok {
				v, found = texts[key]
			} else {
				m, _ := v.(map[string]any)
				v, found = m[key]
			}
			if !found {
				break
			}
		}
		if name := "." + strings.Join(chain, "."); !found && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
