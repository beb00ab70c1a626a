import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { openChromium } from '../support/chromium.ts'
import { PASSWORD, useHarness } from '../support/harness.ts'

/** The adapters for React, Vue and Svelte, with these frameworks, as one page of Chromium. */

const PROJECT = fileURLToPath(new URL('../../', import.meta.url))
const ADAPTERS = join(PROJECT, 'examples/adapters')

const PAGE = `
  import { createGatehouse, createSignInController } from 'gatehouse-client'
  import * as messages from 'gatehouse-client/messages'
  import { createElement } from 'react'
  import { createRoot } from 'react-dom/client'
  import { createApp, h } from 'vue'
  import { mount, unmount } from 'svelte'
  import { useSignIn as inReact } from '${ADAPTERS}/react.ts'
  import { useSignIn as inVue } from '${ADAPTERS}/vue.ts'
  import SveltePage from './svelte-page.js'

  const place = (id) => document.body.appendChild(Object.assign(document.createElement('div'), { id }))
  const original = createSignInController(createGatehouse(), { messages })
  window.subscribed = 0
  window.controller = {
    ...original,
    subscribe(listener) {
      subscribed += 1
      const stop = original.subscribe(listener)
      return () => { subscribed -= 1; stop() }
    },
  }
  const shown = ({ view, session }) => view + ' ' + session?.login

  const root = createRoot(place('react'))
  root.render(createElement(function ReactPage() { return createElement('p', null, shown(inReact(controller))) }))
  const app = createApp({ setup() { const state = inVue(controller); return () => h('p', shown(state.value)) } })
  app.mount(place('vue'))
  const svelte = mount(SveltePage, { target: place('svelte'), props: { controller, shown } })
  window.leave = async () => { root.unmount(); app.unmount(); await unmount(svelte) }
`
const SVELTE_PAGE = `
  <script>
    import { useSignIn } from '${ADAPTERS}/svelte.ts'
    const { controller, shown } = $props()
    const signIn = useSignIn(controller)
  </script>
  <p>{shown(signIn.current)}</p>
  <p>{shown($controller)}</p>
`
/** In a process of its own: rolldown and the compiler of Svelte are ES modules. */
const BUNDLE = `
  import { readFileSync, writeFileSync } from 'node:fs'
  import { rolldown } from 'rolldown'
  import { compile } from 'svelte/compiler'
  const { js } = compile(readFileSync('page.svelte', 'utf8'), { generate: 'client', name: 'SveltePage' })
  writeFileSync('svelte-page.js', js.code)
  const define = { 'process.env.NODE_ENV': '"production"' }
  const bundle = await rolldown({ input: 'page.js', platform: 'browser', transform: { define } })
  await bundle.write({ file: 'bundle.js' })
  await bundle.close()
`

let chromium: Browser
let folder: string
const harness = useHarness()
beforeAll(async () => {
  chromium = await openChromium()
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-adapters-'))
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'page.js'), PAGE)
  writeFileSync(join(folder, 'page.svelte'), SVELTE_PAGE)
  writeFileSync(join(folder, 'bundle.mjs'), BUNDLE)
  execFileSync(process.execPath, ['bundle.mjs'], { cwd: folder, stdio: 'inherit' })
})
afterAll(async () => {
  await chromium.close()
  rmSync(folder, { recursive: true })
})

test('the starter in React has the same adapter', () => {
  const [starter, adapter] = ['react/src/use-sign-in.ts', 'adapters/react.ts'].map((path) =>
    readFileSync(join(PROJECT, 'examples', path), 'utf8'),
  )
  expect(starter).toBe(adapter)
})

test('each framework shows the state and its changes, and subscribes no longer than it shows them', async () => {
  const page = await chromium.newPage()
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  await page.route(`${harness.gatehouse.url}/portal/`, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Portal</title>' }),
  )
  await page.goto(`${harness.gatehouse.url}/portal/`)
  await page.addScriptTag({ path: join(folder, 'bundle.js'), type: 'module' })
  const texts = async (of: string) => {
    await page.waitForFunction(
      `[...document.querySelectorAll('p')].every(({ textContent }) => textContent === '${of}')`,
    )
    return page.locator('div').filter({ hasText: of }).count()
  }
  await page.waitForFunction('window.subscribed === 4')
  expect(await texts('loading undefined')).toBe(3)
  await page.evaluate('controller.start()')
  expect(await texts('sign-in undefined')).toBe(3)
  const account = { username: 'amelia.stone@example.test', password: PASSWORD }
  await page.evaluate(`controller.signIn(${JSON.stringify(account)})`)
  expect(await texts('signed-in amelia.stone@example.test')).toBe(3)
  await page.evaluate('leave()')
  expect([await page.evaluate('subscribed'), problems]).toEqual([0, []])
  await page.close()
})
