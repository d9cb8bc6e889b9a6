//go:build tools

// The commands that t/kube/build builds, so that `go mod tidy` keeps what they need.
package tools

import (
	_ "volcano.sh/volcano/cmd/controller-manager"
	_ "volcano.sh/volcano/cmd/scheduler"
)
