// Package inspection looks at a Redis that others use before a run begins, and
// refuses the one on which the run would fail, or would get in somebody's way.
// It also says which rights a run needs there: what it tries is what it prints.
package inspection
