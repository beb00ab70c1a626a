import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { basename, join, posix } from 'node:path'

/**
 * Carries the steps of the stages out, each stage in a folder of its own under `into` instead of a container, and gives
 * what is left of the last one: `{ root, workdir, env, user, ports, health, command, stopSignal }`.
 *
 * @param given which paths of `project` may be copied (.dockerignore)
 * @param path the PATH of RUN, its node the one of the image
 */
export function buildStages({ stages, project, given, into, path }) {
  const built = new Map()
  let image
  for (const [at, stage] of stages.entries()) {
    image = { root: join(into, `stage-${at}`), workdir: '/', args: {}, env: {}, ports: [] }
    mkdirSync(image.root)
    for (const { word, rest } of stage.steps) {
      const step = STEPS[word]
      step({ image, rest, built, project, given, path })
    }
    built.set(stage.name ?? String(at), image)
  }
  return image
}

const STEPS = {
  WORKDIR({ image, rest }) {
    image.workdir = posix.resolve(image.workdir, rest)
    mkdirSync(inside(image, '.'), { recursive: true })
  },
  /** Its default value: no build argument is given. */
  ARG({ image, rest }) {
    const [, name, value] = assignment('ARG', rest)
    image.args[name] = value
  },
  ENV({ image, rest }) {
    const [, name, value] = assignment('ENV', rest)
    image.env[name] = value.startsWith('$') ? image.args[value.slice(1)] : value
  },
  COPY({ image, rest, built, project, given }) {
    const words = rest.split(/\s+/)
    const from = words[0].startsWith('--from=') ? words.shift().slice('--from='.length) : undefined
    if (words.some((word) => word.startsWith('--'))) throw new Error(`Dockerfile: cannot read COPY ${rest}`)
    const to = words.pop()
    for (const source of words) {
      if (from === undefined) copyFromProject(project, source, inside(image, target(source, to)), given)
      else copyFromStage(built, from, source, inside(image, to))
    }
  },
  RUN({ image, rest, path }) {
    const { NODE_ENV: _, NODE_OPTIONS: __, ...ours } = process.env
    const { status, stdout, stderr } = spawnSync('sh', ['-c', rest], {
      cwd: inside(image, '.'),
      env: { ...ours, ...image.env, PATH: path },
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`Dockerfile: RUN ${rest} failed:\n${stdout}${stderr}`)
  },
  USER({ image, rest }) {
    image.user = rest
  },
  EXPOSE({ image, rest }) {
    image.ports.push(...rest.split(/\s+/))
  },
  STOPSIGNAL({ image, rest }) {
    image.stopSignal = rest
  },
  CMD({ image, rest }) {
    image.command = JSON.parse(rest)
  },
  HEALTHCHECK({ image, rest }) {
    const found = /^(?:--\S+\s+)*CMD\s+(\[.*\])$/.exec(rest)
    if (found === null) throw new Error('Dockerfile: HEALTHCHECK is no list of words')
    image.health = JSON.parse(found[1])
  },
}

function assignment(word, rest) {
  const found = /^(\w+)=(\S+)$/.exec(rest)
  if (found === null) throw new Error(`Dockerfile: cannot read ${word} ${rest}`)
  return found
}

/** A path of the image, as the file system here has it. */
function inside(image, path) {
  return join(image.root, posix.resolve(image.workdir, path))
}

/** A file goes into a folder under its own name; a folder's content goes into it. */
function target(source, to) {
  return to.endsWith('/') ? posix.join(to, basename(source)) : to
}

function copyFromProject(project, source, to, given) {
  const start = join(project, source)
  if (!existsSync(start) || !given(source)) throw new Error(`Dockerfile: COPY ${source}: not given`)
  cpSync(start, to, {
    recursive: true,
    filter: (path) => given(posix.join(source, path.slice(start.length))),
  })
}

function copyFromStage(built, from, source, to) {
  const stage = built.get(from)
  if (stage === undefined) throw new Error(`Dockerfile: COPY --from=${from}: no such stage`)
  const start = join(stage.root, source)
  if (!statSync(start).isDirectory())
    throw new Error(`Dockerfile: COPY --from=${from}: ${source} is no folder`)
  cpSync(start, to, { recursive: true, verbatimSymlinks: true })
}
