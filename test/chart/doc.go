// Package chart tests charts/fairlead as helm renders it. HELM is the helm program (make test finds the one that hack/kube builds).
package chart
