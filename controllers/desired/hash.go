package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// hashBytes of a digest are kept: enough that two versions of one object do not meet.
const hashBytes = 8

// hash is of the JSON of the parts, without what is empty: a field that a later release of Kubernetes' types has, and that is not used, changes
// no hash.
func hash(parts ...any) string {
	h := sha256.New()
	e := json.NewEncoder(h)
	for _, p := range parts {
		if err := e.Encode(pruned(p)); err != nil {
			panic(err) // a tree of JSON
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:hashBytes])
}

// pruned is the value as a tree of JSON without what is empty; of an object without its status.
func pruned(v any) any {
	t := tree(v)
	if m, ok := t.(map[string]any); ok {
		if _, object := v.(Object); object {
			delete(m, "status")
		}
	}
	t, _ = prune(t)
	return t
}

// tree is the value as JSON reads it.
func tree(v any) any {
	b, err := json.Marshal(v)
	var t any
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil {
		panic(err) // API types and texts
	}
	return t
}

// prune takes null and empty objects and lists out, and tells whether anything is left.
func prune(v any) (any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
	case map[string]any:
		for k, e := range v {
			if p, some := prune(e); some {
				v[k] = p
			} else {
				delete(v, k)
			}
		}
		return v, len(v) > 0
	case []any:
		for i, e := range v {
			v[i], _ = prune(e)
		}
		return v, len(v) > 0
	}
	return v, true
}

// sealed is the object with its hash, which covers everything but itself.
func sealed[T Object](o T) T {
	a := map[string]string{}
	for k, v := range o.GetAnnotations() {
		a[k] = v
	}
	h := hash(o)
	a[SpecHashAnnotation] = h
	o.SetAnnotations(a)
	return o
}
