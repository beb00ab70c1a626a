import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

const root = new URL('../../', import.meta.url)
const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...['docs', 'docs/decisions'].flatMap((folder) =>
    readdirSync(new URL(folder, root))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
]
const read = (page: string) => readFileSync(new URL(page, root), 'utf8')

test('every file and folder of ours that a page names is there', () => {
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/`((?:src|test|scripts|docs|config|deploy)\/[\w./-]*)`/g)].map(
      ([, path = '']) => [page, path],
    ),
  )
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter(([, path]) => !existsSync(new URL(path ?? '', root)))).toEqual([])
})

test('every link from page to page leads to one that is there', () => {
  const links = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, path = '']) => [page, path]),
  )
  expect(links.length).toBeGreaterThan(30)
  const isThere = ([page = '', path = '']: string[]) => existsSync(new URL(path, new URL(page, root)))
  expect(links.filter((link) => !isThere(link))).toEqual([])
})
