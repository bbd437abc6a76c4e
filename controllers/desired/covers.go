package desired

import "k8s.io/apimachinery/pkg/api/resource"

// AsWanted tells whether a live object needs no apply: it was last applied as it is wanted, and everything that is wanted is still in it.
// What others added does not matter: labels, annotations, defaults, containers beside ours.
func AsWanted(live, want Object) bool {
	return live.GetAnnotations()[SpecHashAnnotation] == want.GetAnnotations()[SpecHashAnnotation] &&
		covers(fields(live), fields(want), "")
}

// fields are those that an apply is about. A typed client leaves the kind out of what it reads.
func fields(o Object) any {
	m, _ := pruned(o).(map[string]any)
	delete(m, "kind")
	delete(m, "apiVersion")
	return m
}

// covers tells whether everything of want is in live. key is the name of the field that holds them.
func covers(live, want any, key string) bool {
	switch w := want.(type) {
	case nil:
		return true
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return len(w) == 0
		}
		for k, v := range w {
			if key == "requests" || key == "limits" {
				if !sameQuantity(l[k], v) {
					return false
				}
			} else if !covers(l[k], v, k) {
				return false
			}
		}
		return true
	case []any:
		l, ok := live.([]any)
		if !ok {
			return len(w) == 0
		}
		return coversList(l, w, key)
	}
	return live == want
}

// coversList looks for each element of a list of objects, to which others may add theirs; a list of scalars is one value.
func coversList(live, want []any, key string) bool {
	for i, w := range want {
		if _, object := w.(map[string]any); !object {
			if len(live) != len(want) || live[i] != w {
				return false
			}
			continue
		}
		found := false
		for _, l := range live {
			found = found || covers(l, w, key)
		}
		if !found {
			return false
		}
	}
	return true
}

func sameQuantity(a, b any) bool {
	x, okX := a.(string)
	y, okY := b.(string)
	if !okX || !okY {
		return a == b
	}
	p, errP := resource.ParseQuantity(x)
	q, errQ := resource.ParseQuantity(y)
	return errP == nil && errQ == nil && p.Cmp(q) == 0
}
