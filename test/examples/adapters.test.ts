import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, BrowserContext } from 'playwright-core'
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
  window.gatehouse = createGatehouse()
  const original = createSignInController(gatehouse, { messages })
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

/** A tab that has started. */
async function openTab(context: BrowserContext) {
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  await page.route(`${harness.gatehouse.url}/portal/`, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Portal</title>' }),
  )
  await page.goto(`${harness.gatehouse.url}/portal/`)
  await page.addScriptTag({ path: join(folder, 'bundle.js'), type: 'module' })
  await page.waitForFunction('window.subscribed === 4')
  return {
    page,
    problems,
    /** Waits until all frameworks show it. */
    shows: (text: string) =>
      page.waitForFunction(
        `[...document.querySelectorAll('p')].every(({ textContent }) => textContent === '${text}')`,
      ),
    signIn(login: string) {
      const account = { username: `${login}@example.test`, password: PASSWORD }
      return page.evaluate(`controller.signIn(${JSON.stringify(account)})`)
    },
  }
}

test('each framework shows the state and its changes, and subscribes no longer than it shows them', async () => {
  const context = await chromium.newContext()
  const { page, problems, shows, signIn } = await openTab(context)
  expect(await page.locator('p').count()).toBe(4)
  await shows('loading undefined')
  await page.evaluate('controller.start()')
  await shows('sign-in undefined')
  await signIn('amelia.stone')
  await shows('signed-in amelia.stone@example.test')
  await page.evaluate('leave()')
  expect([await page.evaluate('subscribed'), problems]).toEqual([0, []])
  await context.close()
})

test('two users in two tabs: the first tab tells so, and never gets the data of the other user', async () => {
  const context = await chromium.newContext()
  const [ada, bob] = [await openTab(context), await openTab(context)]
  const groupsIn = ({ page }: typeof ada) =>
    page.evaluate('gatehouse.groups().then(({ user }) => user, ({ status }) => status)')
  await ada.page.evaluate('controller.start()')
  await ada.signIn('amelia.stone')
  await ada.shows('signed-in amelia.stone@example.test')
  expect(await groupsIn(ada)).toBe('amelia.stone@example.test')

  await bob.page.evaluate("controller.start({ prompt: 'login' })")
  await bob.shows('sign-in amelia.stone@example.test')
  await bob.signIn('nora.nopolicy')
  await bob.shows('signed-in nora.nopolicy@example.test')
  await ada.shows('replaced undefined')
  // whatever the page still asks
  for (let call = 0; call < 2; call += 1) expect(await groupsIn(ada)).toBe(409)
  const done = "controller.requireRecentSignIn(() => 'done').catch(({ status }) => status)"
  expect(await ada.page.evaluate(done)).toBe(409)
  await ada.page.evaluate('controller.signOut()')
  expect(await bob.page.evaluate('gatehouse.session().then(({ login }) => login)')).toBe(
    'nora.nopolicy@example.test',
  )
  expect([...ada.problems, ...bob.problems]).toEqual([])
  await context.close()
})
