//! Links between the pages.

use std::path::PathBuf;

use crate::docs::page::{Page, home};

#[test]
fn links_lead_to_files_and_headings_that_are_there() {
    let mut broken = Vec::new();
    for page in Page::all() {
        for link in page.links() {
            if !link.contains("://") && !leads_somewhere(&page, &link) {
                broken.push(format!("{}: {link}", page.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

fn leads_somewhere(page: &Page, link: &str) -> bool {
    let (file, anchor) = match link.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (link, None),
    };
    let path: PathBuf = match file {
        "" => page.path.clone(),
        file => page.path.parent().expect("a folder").join(file),
    };
    path.exists() && anchor.is_none_or(|anchor| Page::read(&path).anchors().contains(anchor))
}

#[test]
fn each_index_leads_to_every_page_of_its_folder() {
    for (index, folder) in [
        ("docs/README.md", "docs"),
        ("docs/design.md", "docs/design"),
    ] {
        let index = Page::read(index);
        let links: Vec<_> = index.links();
        let folder = home().join(folder);
        let pages = Page::all().into_iter();
        let pages: Vec<_> = pages
            .filter(|page| page.path.parent() == Some(&folder) && page.path != index.path)
            .collect();
        assert!(pages.len() > 5, "{}", folder.display());
        for page in pages {
            let is_told = links.iter().any(|link| {
                let file = link.split('#').next().unwrap_or_default();
                index.path.parent().expect("a folder").join(file) == page.path
            });
            assert!(
                is_told,
                "{} does not lead to {}",
                index.path.display(),
                page.path.display()
            );
        }
    }
}
