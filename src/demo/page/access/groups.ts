import type { GroupPage } from '/demo/client/index.js'
import { gatehouse } from '../gatehouse.js'
import { actions, element, fill, foreign, paragraph } from '../parts/elements.js'
import { button, type Field, form } from '../parts/form.js'
import { listOf, texts } from '../parts/language.js'

type Groups = GroupPage['list']

const SEARCH: Field = ['search', texts.partOfName, { type: 'search', required: false }]

/** Search over all groups. The broker answers 403 if this user may not list them. */
export function createDirectory(): HTMLElement {
  const found = element('div', { 'aria-live': 'polite' })

  const search = async (words: string, before: Groups = [], cursor?: string) => {
    const page = { search: words, limit: 10, ...(cursor !== undefined && { cursor }) }
    const { list, nextCursor } = await gatehouse.directory(page)
    const groups = [...before, ...list]
    found.replaceChildren(
      ...(groups.length === 0
        ? [paragraph(texts.noGroupFound)]
        : [paragraph(...fill(texts.shown, { n: groups.length })), groupTable(texts.groupsFound, groups)]),
      ...(nextCursor ? [actions(button(texts.more, () => search(words, groups, nextCursor)))] : []),
    )
    const firstNew = found.querySelectorAll('tbody tr')[before.length]?.querySelector('td')
    if (before.length === 0 || !firstNew) return
    firstNew.tabIndex = -1
    firstNew.focus() // the pressed button no longer exists
  }
  const asked = form([SEARCH], texts.search, ({ search: words = '' }) => search(words))
  return element('div', {}, asked, found)
}

export function groupTable(caption: string, groups: Groups): HTMLTableElement {
  const headings = [texts.group, texts.roles].map((heading) => element('th', { scope: 'col' }, heading))
  const rows = groups.map(({ name, roles }) =>
    element('tr', {}, element('td', {}, foreign(name)), element('td', {}, listOf(roles) || texts.none)),
  )
  return element(
    'table',
    {},
    element('caption', { class: 'unseen' }, caption),
    element('thead', {}, element('tr', {}, ...headings)),
    element('tbody', {}, ...rows),
  )
}
