// Bento with only the components that the suite's configurations use: all of them would build for a quarter of
// an hour and bring a hundred cloud SDKs.
package main

import (
	"context"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/warpstreamlabs/bento/public/components/io"
	_ "github.com/warpstreamlabs/bento/public/components/nats"
	_ "github.com/warpstreamlabs/bento/public/components/prometheus"
	_ "github.com/warpstreamlabs/bento/public/components/pure"
	_ "github.com/warpstreamlabs/bento/public/components/sql/base"
	"github.com/warpstreamlabs/bento/public/service"
)

var version = "unknown"

func main() {
	service.RunCLI(context.Background(), service.CLIOptSetVersion(version, ""))
}
