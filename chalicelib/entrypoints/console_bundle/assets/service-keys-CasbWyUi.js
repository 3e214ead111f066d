import{n as e}from"./operators-C-3XKMbI.js";function t(e){let t=(e??``).split(`
`).map(e=>e.trim()).filter(Boolean);return t.length>0?t:null}export{e as default,t};