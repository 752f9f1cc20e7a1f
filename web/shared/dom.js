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

/* What h() and svg() take behind the name. */
function build(node, classes, [first, ...others]) {
  const hasAttributes = first?.constructor === Object;
  if (classes.length > 0) node.setAttribute('class', classes.join(' '));
  for (const [name, value] of Object.entries(hasAttributes ? first : {})) setOne(node, name, value);
  const children = hasAttributes ? others : [first, ...others];
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/**
 * Make an element.
 *
 * @param {string} name its tag, and behind dots its classes: 'p.small.muted'
 * @param {...(object|Node|string|null|Array)} rest children, before which attributes may stand: an object of
 *   attributes by name (true: present, false or null: left out); `text` is the text, `on` is {click: listener, ...}
 * @returns {HTMLElement}
 */
export function h(name, ...rest) {
  const [tag, ...classes] = name.split('.');
  return build(document.createElement(tag), classes, rest);
}

/** The same for pictures: an SVG element. */
export function svg(name, ...rest) {
  const [tag, ...classes] = name.split('.');
  return build(document.createElementNS(SVG, tag), classes, rest);
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
