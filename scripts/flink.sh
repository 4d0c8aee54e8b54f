#!/usr/bin/env bash
# A small Flink cluster on loopback, to try a crawl on: one JobManager, two TaskManagers of one
# task slot each, and a pool of Python workers. About 4 GiB in all. Needs Java 11 or 17, and
# Maven for Beam's job server.
#   scripts/flink.sh start     fetch what is missing into .tools/flink/ (once), start, wait until it is up
#   scripts/flink.sh status    what runs, and how many task slots there are
#   scripts/flink.sh stop      end what `start` started, and nothing else
#   scripts/flink.sh kill N    end TaskManager N as a crash would, and start another in its place
#   scripts/flink.sh job-server    fetch Beam's job server (once), print its path
# Ports: FLINK_PORT (8081, REST), FLINK_RPC_PORT (6123), FLINK_POOL_PORT (50000).
set -euo pipefail
cd "$(dirname "$0")/.."

FLINK=2.2.1 # the newest that Beam $BEAM has a runner for is 2.2
BEAM=$(sed -n 's/^apache-beam.*==//p' requirements.txt)
JOB_SERVER=beam-runners-flink-2.2-job-server
PORT=${FLINK_PORT:-8081} RPC_PORT=${FLINK_RPC_PORT:-6123} POOL_PORT=${FLINK_POOL_PORT:-50000}
TASK_MANAGERS=${FLINK_TASK_MANAGERS:-2}
PYTHON=${PYTHON:-.venv/bin/python}
HOME_DIR=$PWD/.tools/flink
RUN=$HOME_DIR/run

fetch_flink() {
  [ ! -d "$HOME_DIR/lib" ] || return 0
  echo "fetching Flink $FLINK (312 MB, once) …" >&2
  mkdir -p "$HOME_DIR"
  local wheel
  wheel=$(mktemp -d)
  "$PYTHON" -m pip download --quiet --no-deps -d "$wheel" "apache-flink-libraries==$FLINK"
  "$PYTHON" -m zipfile -e "$wheel"/*.whl "$wheel/all"
  mv "$wheel/all/pyflink/lib" "$HOME_DIR/lib"
  rm -r "$wheel"
}

job-server() { # fetches Beam's job server (once), and prints where it is
  local jar=$HOME_DIR/$JOB_SERVER-$BEAM.jar log=$HOME_DIR/mvn.log
  mkdir -p "$HOME_DIR"
  if [ ! -e "$jar" ] && ! mvn --quiet --batch-mode -U dependency:copy \
    "-Dartifact=org.apache.beam:$JOB_SERVER:$BEAM" "-DoutputDirectory=$HOME_DIR" >"$log" 2>&1; then
    echo "no crawl on Flink without Beam's job server: $(grep -om1 'Could not [^(]*\|.*command not found' "$log")" >&2
    return 1
  fi
  echo "$jar"
}

configure() {
  mkdir -p "$RUN/conf" "$RUN/tmp"
  cat >"$RUN/conf/config.yaml" <<YAML
jobmanager.rpc.address: localhost
jobmanager.rpc.port: $RPC_PORT
jobmanager.bind-host: localhost
rest.address: localhost
rest.port: $PORT
rest.bind-address: localhost
taskmanager.host: localhost
taskmanager.bind-host: localhost
io.tmp.dirs: $RUN/tmp
taskmanager.numberOfTaskSlots: 1
# Started by class, a TaskManager is told every part of its memory.
taskmanager.cpu.cores: 1
taskmanager.memory.task.heap.size: 512m
taskmanager.memory.task.off-heap.size: 64m
taskmanager.memory.managed.size: 256m
taskmanager.memory.framework.heap.size: 128m
taskmanager.memory.framework.off-heap.size: 128m
taskmanager.memory.network.min: 128m
taskmanager.memory.network.max: 128m
taskmanager.memory.jvm-metaspace.size: 256m
taskmanager.memory.jvm-overhead.min: 192m
taskmanager.memory.jvm-overhead.max: 192m
# A round that failed may be tried again as a whole: it has committed nothing.
restart-strategy.type: fixed-delay
restart-strategy.fixed-delay.attempts: 3
restart-strategy.fixed-delay.delay: 1 s
heartbeat.timeout: 10000
heartbeat.interval: 2000
YAML
  cat >"$RUN/conf/log4j.properties" <<LOG
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = Console
appender.console.name = Console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %-5p %c{1} %m%n
LOG
}

OPENS=()
for package in java.base/{java.lang,java.net,java.io,java.nio,java.text,java.time,java.util} \
  java.base/{java.lang.reflect,java.util.concurrent,java.util.concurrent.atomic} \
  java.base/{java.util.concurrent.locks,sun.net.util,sun.nio.ch}; do
  OPENS+=("--add-opens=$package=ALL-UNNAMED")
done

launch() { # NAME COMMAND…: in the background, its pid in a file
  local name=$1
  shift
  "$@" >"$RUN/$name.log" 2>&1 &
  echo $! >"$RUN/$name.pid"
}

java_class() { # NAME HEAP METASPACE CLASS
  launch "$1" java "-Xmx$2" "-Xms$2" "-XX:MaxMetaspaceSize=$3" "${OPENS[@]}" \
    "-Dlog4j.configurationFile=$RUN/conf/log4j.properties" -cp "$HOME_DIR/lib/*" \
    "org.apache.flink.runtime.$4" --configDir "$RUN/conf"
}

task_manager() { # NUMBER
  java_class "taskmanager-$1" 640m 256m taskexecutor.TaskManagerRunner
}

kill() { # NUMBER
  builtin kill -KILL "$(cat "$RUN/taskmanager-$1.pid")"
  task_manager "$1"
}

running() { # PID-FILE: whether what it names is still ours
  [ -e "$1" ] && tr '\0' ' ' 2>/dev/null <"/proc/$(cat "$1")/cmdline" | grep -q "$RUN/conf\|worker_pool_main"
}

slots() {
  "$PYTHON" - "$PORT" <<'PY'
import json, sys, urllib.request
try:
    said = urllib.request.urlopen(f"http://localhost:{sys.argv[1]}/overview", timeout=5)
    print(json.load(said)["slots-total"])
except OSError:
    print(0)
PY
}

start() {
  if [ -e "$RUN/jobmanager.pid" ] && running "$RUN/jobmanager.pid"; then
    echo "already running; scripts/flink.sh stop ends it" >&2
    return 1
  fi
  fetch_flink
  job-server >/dev/null || true
  configure
  java_class jobmanager 512m 256m entrypoint.StandaloneSessionClusterEntrypoint
  for number in $(seq "$TASK_MANAGERS"); do
    task_manager "$number"
  done
  # The pool starts its workers as `python`.
  PATH=$(dirname "$(realpath -s "$PYTHON")"):$PATH launch pool "$PYTHON" -m \
    apache_beam.runners.worker.worker_pool_main "--service_port=$POOL_PORT"
  for _ in $(seq 60); do
    if [ "$(slots)" = "$TASK_MANAGERS" ]; then
      echo "up: $TASK_MANAGERS task slots. To crawl on it:"
      echo "  beamcrawl crawl URL -o DIR --fetchers $TASK_MANAGERS --runner=FlinkRunner" \
        "--flink_master=localhost:$PORT --flink_job_server_jar=.tools/flink/$JOB_SERVER-$BEAM.jar" \
        "--environment_type=EXTERNAL --environment_config=localhost:$POOL_PORT"
      return
    fi
    sleep 1
  done
  echo "no cluster within a minute; see $RUN/*.log" >&2
  stop
  return 1
}

stop() {
  local file pid
  for file in "$RUN"/*.pid; do
    if running "$file"; then
      pid=$(cat "$file")
      builtin kill "$pid"
      for _ in $(seq 20); do
        running "$file" || break
        sleep 0.5
      done
      ! running "$file" || builtin kill -KILL "$pid"
    fi
    rm -f "$file"
  done
}

status() {
  local file
  for file in "$RUN"/*.pid; do
    [ -e "$file" ] || continue
    running "$file" && echo "$(basename "$file" .pid) runs (pid $(cat "$file"))" || echo "$(basename "$file" .pid) is gone"
  done
  echo "task slots: $(slots)"
}

case ${1:-} in
start | stop | status | kill | job-server) "$@" ;;
*)
  sed -n 's/^#   //p' "$0" >&2
  exit 2
  ;;
esac
