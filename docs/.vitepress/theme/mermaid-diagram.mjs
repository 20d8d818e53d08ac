import { useData } from 'vitepress';
import { defineComponent, h, onMounted, shallowRef, useId, watch } from 'vue';

/**
 * Draws a diagram in the reader's browser, because Mermaid measures text there. Until it is drawn, and without JavaScript, the page
 * shows the diagram's source.
 */
export const MermaidDiagram = defineComponent({
  props: { source: { type: String, required: true } },
  setup({ source }) {
    const { isDark } = useData();
    const id = `diagram-${useId()}`;
    const svg = shallowRef('');

    async function draw() {
      const dark = isDark.value;
      // Loaded here, so that pages without a diagram don't load it.
      const { default: mermaid } = await import('mermaid');
      mermaid.initialize({
        startOnLoad: false,
        theme: dark ? 'dark' : 'default',
        // As it was when Mermaid measured the text: VitePress's lines are higher, and would be cut off.
        themeCSS: 'p { line-height: inherit; }',
        // A diagram wider than the page is made smaller, with its text.
        sequence: { wrap: true },
      });
      const drawn = await mermaid.render(id, decodeURIComponent(source));
      if (dark === isDark.value) svg.value = drawn.svg;
    }

    onMounted(draw);
    watch(isDark, draw);

    return () =>
      svg.value === ''
        ? h('pre', decodeURIComponent(source))
        : h('div', { class: 'diagram', innerHTML: svg.value });
  },
});
