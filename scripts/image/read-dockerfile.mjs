/**
 * The stages of a Dockerfile: `[{ image, name, steps: [{ word, rest }] }]`. An instruction that
 * check-image.mjs does not support is an error, so that no instruction is skipped.
 */
export function readDockerfile(text) {
  const stages = []
  for (const { word, rest } of instructions(text)) {
    if (word === 'FROM') stages.push(stageOf(rest))
    else if (!SUPPORTED.has(word)) throw new Error(`Dockerfile: ${word} is not supported by this check`)
    else if (stages.length === 0) throw new Error(`Dockerfile: ${word} before the first FROM`)
    else stages.at(-1).steps.push({ word, rest })
  }
  return stages
}

/** Whether .dockerignore includes a path. Supports plain paths only; the last matching rule applies. */
export function readDockerignore(text) {
  const rules = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ given: line.startsWith('!'), path: line.replace(/^!/, '') }))
  for (const { path } of rules) {
    if (path !== '*' && /[*?[\]\\]/.test(path)) throw new Error(`.dockerignore: ${path} is not a plain path`)
  }
  const fits = (rule, path) => rule === '*' || path === rule || path.startsWith(`${rule}/`)
  return (path) => rules.findLast((rule) => fits(rule.path, path))?.given ?? true
}

const SUPPORTED = new Set(
  'WORKDIR COPY RUN ARG ENV USER EXPOSE HEALTHCHECK STOPSIGNAL ENTRYPOINT CMD'.split(' '),
)

/** Logical lines, without comments, and with continuation lines joined. */
function instructions(text) {
  const lines = text.split('\n').filter((line) => !/^\s*(#|$)/.test(line))
  return lines
    .join('\n')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => {
      const [, word, rest] = /^(\S+)\s+(.*)$/.exec(line.trim()) ?? [undefined, line.trim(), '']
      return { word: word.toUpperCase(), rest }
    })
}

function stageOf(rest) {
  const found = /^(\S+)(?:\s+AS\s+(\S+))?$/i.exec(rest)
  if (found === null) throw new Error(`Dockerfile: cannot read FROM ${rest}`)
  return { image: found[1], name: found[2], steps: [] }
}
