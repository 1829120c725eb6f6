# A Docker engine for the length of a CI run: docker_up starts one unless one answers, docker_down removes it.
# Where no engine can run, docker_up says so in one line; the container tests then skip with their reason.

docker_folder=""
docker_pid=""
docker_bridge_is_ours=""

docker_answers() { timeout 5 .venv/bin/python -c 'import docker; docker.from_env(timeout=3).ping()' 2>/dev/null; }

docker_install() {
  command -v dockerd >/dev/null && return 0
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  echo "ci: installing docker.io"
  # Debian would start the daemon on install, and nobody would stop it: we run our own.
  local policy=/usr/sbin/policy-rc.d installed=0
  [ -e "$policy" ] && policy="" || { printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy"; }
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      docker.io iptables; } >"$docker_folder/apt.log" 2>&1 || installed=1
  [ -z "$policy" ] || rm -f "$policy"
  return "$installed"
}

docker_up() {
  if docker_answers; then return 0; fi
  docker_folder=$(mktemp -d /tmp/jetlag-docker-XXXXXX)
  if ! docker_install; then
    echo "ci: no Docker engine answers and none can be installed here; container tests will skip"
    return 0
  fi
  export DOCKER_HOST="unix://$docker_folder/docker.sock"
  # Its own folders and socket, so that an engine of the machine is neither used nor disturbed.
  # The parent-death signal is for the day this script is killed outright and its trap does not run.
  [ -e /sys/class/net/docker0 ] || docker_bridge_is_ours=yes
  setsid setpriv --pdeathsig TERM dockerd --host "$DOCKER_HOST" --data-root "$docker_folder/data" \
    --exec-root "$docker_folder/exec" --pidfile "$docker_folder/docker.pid" >"$docker_folder/dockerd.log" 2>&1 &
  docker_pid=$!
  for _ in $(seq 120); do
    if docker_answers; then return 0; fi
    if ! kill -0 "$docker_pid" 2>/dev/null; then break; fi
    sleep 0.5
  done
  echo "ci: dockerd does not run here ($(grep -a 'level=fatal\|failed to' "$docker_folder/dockerd.log" | tail -1 |
    cut -c1-200)); container tests will skip"
  docker_stop
  unset DOCKER_HOST
}

docker_stop() {
  [ -n "$docker_pid" ] || return 0
  kill "$docker_pid" 2>/dev/null || true
  for _ in $(seq 60); do
    kill -0 "$docker_pid" 2>/dev/null || break
    sleep 0.5
  done
  # Only a dockerd that had to be killed leaves its containerd.
  if kill -9 "$docker_pid" 2>/dev/null; then
    kill -9 "$(cat "$docker_folder/exec/containerd/containerd.pid" 2>/dev/null)" 2>/dev/null || true
  fi
  wait "$docker_pid" 2>/dev/null || true
  docker_pid=""
  if [ -n "$docker_bridge_is_ours" ] && command -v ip >/dev/null; then ip link delete docker0 2>/dev/null || true; fi
}

docker_down() {
  docker_stop
  [ -n "$docker_folder" ] || return 0
  # A layer that is still mounted would make rm fail half-way.
  awk -v folder="$docker_folder/" 'index($2, folder) == 1 { print $2 }' /proc/mounts | sort -r |
    while read -r mount; do umount -l "$mount" 2>/dev/null || true; done
  rm -rf --one-file-system "$docker_folder" 2>/dev/null || true
}
