import { type Json, list, loadDocument, type Operation, operations, record, text } from './api-document.js'
import { operationView } from './api-operation.js'
import { namedSchema, paragraphs } from './api-schemas.js'
import { loadUsers, showState } from './api-state.js'
import { notifyUser, openForm } from './api-try.js'
import { byId, element } from './parts/elements.js'
import { openTools } from './tools/tools.js'

/** Shows the OpenAPI document: operations by group, then the shared schemas. */
async function show(): Promise<void> {
  const api = await loadDocument()
  const all = operations()
  byId('about').replaceChildren(...paragraphs(text(record(api.info).description)))
  byId('operations').replaceChildren(...list(api.tags).map((tag) => groupOf(record(tag), all)))
  byId('schemas').replaceChildren(
    element('h2', {}, 'Schemas'),
    ...Object.entries(record(record(api.components).schemas)).map(([name, schema]) =>
      namedSchema(name, record(schema)),
    ),
  )
  await Promise.all([loadUsers(), showState(), showTools(all)])
  addFilter(all.length)
  openLinked()
}

/** The sandbox's users and their phone. Choosing a user fills in the form of the first step. */
async function showTools(all: readonly Operation[]): Promise<void> {
  const first = all.find(({ id }) => id === 'authenticate')
  const select = await openTools(({ login, password }) => {
    if (first)
      openForm(first, { body: { username: login, password } })
        .querySelector('button')
        ?.focus()
  })
  notifyUser(select)
}

function groupOf(tag: Json, all: readonly Operation[]): HTMLElement {
  const own = all.filter(({ value }) => list(value.tags).includes(tag.name))
  return element(
    'section',
    {},
    element('h2', {}, text(tag.name)),
    ...paragraphs(text(tag.description)),
    ...own.map(operationView),
  )
}

/** Shows only the operations that contain every typed word. */
function addFilter(total: number): void {
  const filter = byId('filter')
  const apply = () => {
    const words = filter instanceof HTMLInputElement ? filter.value.toLowerCase().split(/\s+/) : []
    let shown = 0
    for (const section of byId('operations').children) {
      let any = false
      for (const view of section.querySelectorAll<HTMLElement>(':scope > details')) {
        const said = view.querySelector('summary')?.textContent.toLowerCase() ?? ''
        view.hidden = !words.every((word) => said.includes(word))
        if (!view.hidden) shown++
        any ||= !view.hidden
      }
      if (section instanceof HTMLElement) section.hidden = !any
    }
    byId('found').textContent = shown === total ? `${total} operations` : `${shown} of ${total} operations`
  }
  filter.addEventListener('input', apply)
  apply()
}

/** Opens the operation or schema that the URL's fragment names. */
function openLinked(): void {
  const open = () => {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)))
    if (!(named instanceof HTMLDetailsElement)) return
    named.open = true
    named.scrollIntoView()
  }
  addEventListener('hashchange', open)
  open()
}

show().catch((error: unknown) => {
  byId('found').textContent =
    error instanceof Error ? error.message : 'The API description could not be loaded.'
})
