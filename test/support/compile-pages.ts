import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

export const COMPILERS = [
  ['the project’s', join(ROOT, 'node_modules/typescript/bin/tsc')],
  ['TypeScript 5', join(ROOT, 'tools/openapi/node_modules/typescript/bin/tsc')],
] as const

/**
 * Compiles pages in this folder. @returns the errors: the file, the line, the code and the text;
 * other output as it is
 */
export function errorsIn(
  folder: string,
  pages: Readonly<Record<string, string>>,
  tsc: string,
  options: object = {},
): string[][] {
  for (const [file, page] of Object.entries(pages)) writeFileSync(join(folder, file), page)
  // the default library is TypeScript's own, and half of the time
  const usual = { strict: true, noEmit: true, lib: ['es2022'], types: [], skipDefaultLibCheck: true }
  const compilerOptions = { ...usual, ...options }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(pages) }))
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
    encoding: 'utf8',
  })
  return stdout
    .split(/\n(?! )/) // an indented line continues the text
    .filter((line) => /\berror TS\d+/.test(line))
    .map((line) => {
      const [, file = '', at, code = '', text = ''] =
        /^(?:.*\/)?([\w.]+)\((\d+),\d+\): error (TS\d+): (.*)/s.exec(line) ?? []
      return pages[file] === undefined
        ? [line]
        : [file, pages[file].split('\n')[Number(at) - 1]?.trim() ?? '', code, text]
    })
}
