import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'

interface Stage {
  readonly image: string
  readonly name: string | undefined
  readonly steps: readonly { readonly word: string; readonly rest: string }[]
}
interface Image {
  readonly root: string
  readonly workdir: string
  readonly env: Record<string, string>
  readonly user: string
  readonly command: readonly string[]
}

const script = (name: string): Promise<unknown> =>
  import(new URL(`../../scripts/image/${name}`, import.meta.url).href)
const { readDockerfile, readDockerignore } = (await script('read-dockerfile.mjs')) as {
  readDockerfile(text: string): Stage[]
  readDockerignore(text: string): (path: string) => boolean
}
const { buildStages } = (await script('build-stages.mjs')) as { buildStages(parts: object): Image }

describe('reading', () => {
  test.each([
    ['Dockerfile', 'CMD'],
    ['deploy/compose/sandbox.Dockerfile', 'ENTRYPOINT'],
  ])('the check supports all instructions of %s', (path, last) => {
    const stages = readDockerfile(readFileSync(path, 'utf8'))
    expect(stages.map(({ name }) => name)).toEqual(['build', 'packages', undefined])
    expect(stages.at(-1)?.steps.at(-1)?.word).toBe(last)
  })

  test.each(['ADD a b', 'VOLUME /data', 'ONBUILD RUN true'])('%s is not supported and refused', (line) => {
    expect(() => readDockerfile(`FROM node:24\n${line}`)).toThrow(/is not supported/)
  })

  test('continuation lines are joined, and comments removed', () => {
    const [stage] = readDockerfile('FROM a AS b\n# no\nRUN one \\\n  # nor this\n  && two\n')
    expect(stage).toEqual({ image: 'a', name: 'b', steps: [{ word: 'RUN', rest: 'one && two' }] })
  })

  test('.dockerignore: the last matching rule applies, and patterns are refused', () => {
    const isIncluded = readDockerignore('*\n# why\n!src\nsrc/demo\n')
    expect(
      ['src', 'src/a.ts', 'src/demo', 'src/demo/b.ts', 'src/demonic.ts', 'test'].map(isIncluded),
    ).toEqual([true, true, false, false, true, false])
    expect(() => readDockerignore('*\n!src/**/*.ts')).toThrow(/is not a plain path/)
  })
})

describe('building', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-stages-'))
    for (const path of ['src/a.txt', 'src/hidden/b.txt', 'c.txt']) write(path)
    mkdirSync(join(folder, 'into'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  function write(path: string): void {
    const file = join(folder, 'project', path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, path)
  }

  function build(...lines: string[]): Image {
    return buildStages({
      stages: readDockerfile(lines.join('\n')),
      project: join(folder, 'project'),
      isIncluded: readDockerignore('*\n!src\nsrc/hidden\n'),
      into: join(folder, 'into'),
      path: process.env.PATH,
    })
  }

  test('a stage has the copied and created files, and those copied from another stage', () => {
    const image = build(
      'FROM node:24 AS made',
      'WORKDIR /app',
      'ENV WORD=hello',
      'COPY src ./src',
      'RUN mkdir out && echo "$WORD" > out/word.txt',
      'FROM node:24',
      'WORKDIR /app',
      'COPY --from=made /app/out ./out',
      'ARG REVISION=unknown',
      'ENV REVISION=$REVISION',
      'USER 1000:1000',
      'CMD ["node", "x.js"]',
    )
    expect(readdirSync(join(image.root, 'app'), { recursive: true }).sort()).toEqual(['out', 'out/word.txt'])
    expect(readFileSync(join(image.root, 'app/out/word.txt'), 'utf8')).toBe('hello\n')
    expect(image).toMatchObject({
      workdir: '/app',
      env: { REVISION: 'unknown' },
      user: '1000:1000',
      command: ['node', 'x.js'],
    })
    expect(readdirSync(join(folder, 'into/stage-0/app/src'))).toEqual(['a.txt'])
  })

  test.each([
    ['a path that .dockerignore excludes', 'COPY c.txt ./'],
    ['a missing path', 'COPY src/none ./'],
    ['an unknown stage', 'COPY --from=none /app ./'],
    ['an option of COPY', 'COPY --chown=1:1 src ./src'],
    ['a command that fails', 'RUN false'],
  ])('%s ends it', (_, line) => {
    expect(() => build('FROM node:24', 'WORKDIR /app', line)).toThrow(/Dockerfile: /)
  })
})
