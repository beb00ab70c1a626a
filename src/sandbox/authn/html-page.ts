import type { Response } from 'express'

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'"

/** A plain page. @param content HTML below the heading */
export function showPage(res: Response, title: string, content = ''): void {
  const safe = title.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
  res.set('Content-Security-Policy', POLICY).type('html')
  res.send(
    `<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>${safe}</title><h1>${safe}</h1>${content}</html>\n`,
  )
}
