/*
 * The little that we need to build pages: no markup from strings, so no text can become markup.
 */

const SVG = 'http://www.w3.org/2000/svg';

function setOne(node, name, value) {
  if (name === 'on') {
    for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener);
  } else if (name === 'text') {
    node.textContent = value;
  } else if (value === true) {
    node.setAttribute(name, '');
  } else if (value !== false && value !== null && value !== undefined) {
    node.setAttribute(name, value);
  }
}

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) setOne(node, name, value);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/**
 * Make an element.
 *
 * @param {string} tag
 * @param {object} [attributes] attributes by name (true: present, false or null: left out); `text` is the
 *   text, `on` is {click: listener, ...}
 * @param {...(Node|string|null|Array)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** The same for pictures: an SVG element. */
export function svg(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

/** Set text only when it differs, so that screen readers are told of changes alone. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Set an attribute, or take it away (null, undefined, false), only when that changes something. */
export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}
