# The part of ./dev, which reads this file, that builds and runs the programs of this folder.

bench() { # [NAME [ARGUMENT…]]
  case ${1-} in
  redis) setup build redis ;;
  *) setup build bench ;;
  esac
  case ${1-} in
  cli)
    build release kith_tool
    exec "$root/bench/cli.sh" "$root/build/release/apps/cli/kith" "${@:2}"
    ;;
  redis)
    build release kith_redis kith_tool
    exec "$root/bench/redis.py" "$root/build/release/apps/redis/kith.so" "$root/build/release/apps/cli/kith" "${@:2}"
    ;;
  tables)
    build bench bench_tables
    exec "$root/build/bench/bench/bench_tables" "${@:2}"
    ;;
  store)
    [ $# -gt 1 ] || die "usage: ./dev bench store FOLDER [ADDS [BYTES]]: a folder on the disk to measure"
    build bench bench_store kith_tool
    exec "$root/build/bench/bench/bench_store" "$root/build/bench/apps/cli/kith" "${@:2}"
    ;;
  worst)
    build bench bench_worst_add
    exec "$root/build/bench/bench/bench_worst_add" "${@:2}"
    ;;
  ratios)
    build bench bench_ratios
    exec "$root/build/bench/bench/bench_ratios" "${@:2}"
    ;;
  *)
    build bench bench_filters
    exec "$root/bench/filters.sh" "$root/build/bench/bench/bench_filters" "$@"
    ;;
  esac
}
