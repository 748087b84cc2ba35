// Package kernel makes flows of what package capture/xdp has counted in the kernel.
package kernel
